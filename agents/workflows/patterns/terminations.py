"""Terminations of a group chat: conditions that are evaluated after each message.

The conditions read ``message`` (``speaker``, ``turn``, ``text``), ``state.transcript`` and
``state.queue``, whose length is the number of participants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from agents.workflows.patterns.texts import TURNS, literal

_QUESTION: Final = "Is the task done?"
_FORMS: Final = (
    'write { max_messages = 20 }, { max_rounds = 3 }, { keyword = "DONE" }, { by_model = "AGENT" '
    '}, { when = "CONDITION" }, { any_of = [...] } or { all_of = [...] }'
)
_MOST: Final = 500
#: Condition on a judge's answer; anything but a yes is a no.
AGREES: Final = "starts_with(lower(strip(str(message))), 'yes') or '\"done\": true' in str(message)"


@dataclass(frozen=True, slots=True)
class Termination:
    """Condition that ends a chat.

    Attributes:
        certain: Condition that ends the chat without asking the judge.
        possible: Condition that ends the chat if the judge agrees.
        judge: Agent that is asked; empty: none is.
        question: Question to the judge.
    """

    certain: str
    possible: str
    judge: str = ""
    question: str = ""


def read_termination(given: Any) -> Termination:
    """Return a termination from its settings.

    Raises:
        ValueError: The settings are not those of a termination, or there are two judges; the error
            is the end of a sentence.
    """
    match given:
        case Termination():
            return given
        case {"any_of": [_, *_] as parts, **rest} if not rest:
            return _joined(parts, " or ")
        case {"all_of": [_, *_] as parts, **rest} if not rest:
            return _joined(parts, " and ")
        case {"by_model": str(agent), **rest} if rest.keys() <= {"question"}:
            return Termination("False", "True", agent, str(rest.get("question", _QUESTION)))
        case {"max_messages": int(most), **rest} if not rest:
            condition = f"{TURNS} >= {_count('max_messages', most)}"
        case {"max_rounds": int(most), **rest} if not rest:
            condition = f"{TURNS} >= {_count('max_rounds', most)} * len(state.queue)"
        case {"keyword": str(word), **rest} if word and not rest:
            condition = f"{literal(word)} in message.text"
        case {"keyword": str(word), "by": str(name), **rest} if word and not rest:
            condition = f"{literal(word)} in message.text and message.speaker == {literal(name)}"
        case {"when": str(condition), **rest} if condition and not rest:
            pass
        case _:
            raise ValueError(f"is no termination; {_FORMS}")
    return Termination(condition, condition)


def _count(name: str, given: int) -> int:
    if isinstance(given, bool) or not 1 <= given <= _MOST:
        raise ValueError(f"has {name} = {given!r}; write a whole number from 1 to {_MOST}")
    return given


def _joined(parts: list[Any], word: str) -> Termination:
    found = [read_termination(part) for part in parts]
    judges = [(one.judge, one.question) for one in found if one.judge]
    if len(judges) > 1:
        raise ValueError(f"asks two models, {judges[0][0]} and {judges[1][0]}; keep one of them")
    certain = word.join(f"({one.certain})" for one in found)
    possible = word.join(f"({one.possible})" for one in found)
    return Termination(certain, possible, *next(iter(judges), ("", "")))
