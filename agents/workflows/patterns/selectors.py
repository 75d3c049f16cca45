"""Selectors of a group chat: expressions of the names that may speak next, the best first.

The state's key ``queue`` has all names, the one that has been silent for the longest time first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

#: Expression of a list of the last speaker's name; empty at the beginning.
LAST: Final = "[m.speaker for m in state.transcript[-1:]]"
_LAST_TEXT: Final = "lower(join([m.text for m in state.transcript[-1:]]) or str(input))"
_QUESTION: Final = "Who speaks next?"
_FORMS: Final = (
    'write "round_robin", "smart", { by_model = "AGENT" }, { no_repeat = SELECTOR } or '
    '{ expression = "..." }'
)


@dataclass(frozen=True, slots=True)
class Selector:
    """Rule that chooses the next speaker.

    Attributes:
        candidates: Expression of a list of names; the first one speaks. With a moderator,
            ``message`` is the moderator's answer.
        moderator: Agent that is asked first; empty: none is.
        question: Question to the moderator.
        may_repeat: False if the last speaker is never the next one.
        hint: Sentence for the participants.
    """

    candidates: str
    moderator: str = ""
    question: str = _QUESTION
    may_repeat: bool = True
    hint: str = ""


ROUND_ROBIN: Final = Selector("state.queue")
#: The participant that the last message, or else the task, addresses; else the longest silent.
SMART: Final = Selector(
    f"[n for n in state.queue if '@' + n in {_LAST_TEXT} and n not in {LAST}] + state.queue",
    hint=" Write @NAME to let one of them speak next.",
)
_WITHIN: Final = "[n for n in state.queue if n in lower(str(message))]"
#: The name alone or as a value in JSON; else the only name within a sentence.
_NAMED: Final = (
    "[n for n in state.queue if n == lower(strip(str(message))) or '\"' + n + '\"' in "
    f"str(message)] + ({_WITHIN} if len({_WITHIN}) == 1 else [])"
)


def read_selector(given: Any) -> Selector:
    """Return a selector from its settings.

    Raises:
        ValueError: The settings are not those of a selector; the error is the end of a sentence.
    """
    match given:
        case Selector():
            return given
        case "round_robin":
            return ROUND_ROBIN
        case "smart":
            return SMART
        case {"no_repeat": inner, **rest} if not rest:
            found = read_selector(inner)
            others = f"[n for n in ({found.candidates}) if n not in {LAST}]"
            return replace(found, candidates=others, may_repeat=False)
        case {"expression": str(expression), **rest} if not rest:
            return Selector(f"[{expression}]")
        case {"by_model": str(agent), **rest}:
            question, unknown = rest.pop("question", _QUESTION), rest.pop("unknown", "skip")
            if rest or not isinstance(question, str) or unknown not in ("skip", "fail"):
                raise ValueError(
                    "is no selector by a model; besides by_model it may have question, and "
                    'unknown = "skip" or "fail"'
                )
            named = _NAMED if unknown == "fail" else f"{_NAMED} + state.queue"
            return Selector(named, agent, question)
    raise ValueError(f"is no selector; {_FORMS}")
