"""Texts of the prompts of patterns: templates over the transcript in the state.

The state's key ``transcript`` is a list of ``{"speaker", "turn", "text"}``, appended by one node.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: Node that appends an agent's answer to the transcript; agents' names have no spaces.
TAKE_DOWN: Final = "take down"
#: Expression of the number of answers so far.
TURNS: Final = "len(state.transcript)"
#: Expression of the answer in a message, as text: data as JSON, null as an empty text.
ANSWER: Final = "str(message)"
_FORM: Final = "m.speaker + ': ' + (m.text or '(no answer)')"
TRANSCRIPT: Final = {"merge": "append", "initial": []}


def literal(text: str) -> str:
    """Return a text as a literal of an expression."""
    return json.dumps(text, ensure_ascii=False)


def said() -> str:
    """Return the template of the whole transcript."""
    return _lines("state.transcript")


def said_since(name: str) -> str:
    """Return the template of the transcript from an agent's own last answer on.

    An agent's run begins without a memory of its earlier ones, so its own answer is included.
    """
    own = f"[m.turn for m in state.transcript if m.speaker == {literal(name)}]"
    return _lines(f"state.transcript[max([0] + {own}):]")


def _lines(entries: str) -> str:
    return f"{{{{ join([{_FORM} for m in {entries}], '\\n\\n') or '(nothing yet)' }}}}"


def entry(name: str) -> dict[str, Any]:
    """Return the template of an agent's entry in the transcript, for an edge from its node."""
    return {"speaker": name, "turn": f"{{{{ {TURNS} }}}}", "text": f"{{{{ {ANSWER} }}}}"}


def take_down(names: Iterable[str]) -> list[dict[str, Any]]:
    """Return the edges from agents to the node that appends their answers."""
    return [{"from": name, "to": TAKE_DOWN, "message": entry(name)} for name in names]


def overview(place: str, agents: Mapping[str, str], request: str) -> str:
    """Return the prompt of an agent that watches others.

    Args:
        place: Sentence about the agent's part.
        agents: The others.
        request: Request to the agent.
    """
    return (
        f"{place} The task:\n\n{{{{ input }}}}\n\nThe participants:\n{roster(agents)}\n\n"
        f"What was said:\n\n{said()}\n\n{request}"
    )


def roster(agents: Mapping[str, str]) -> str:
    """Return a list of agents with their roles."""
    return "\n".join(f"- {name}: {role}" if role else f"- {name}" for name, role in agents.items())
