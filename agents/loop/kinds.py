"""State of each kind of run, by the kind's name.

A kind that Heartbit does not have adds its line where its engine is declared
(``docs/contributing/add-a-kind-of-run.md``).
"""

from __future__ import annotations

from typing import Final

from agents.loop.agent_state import AgentState
from agents.loop.extraction_state import ExtractionState
from agents.loop.state import RunState
from agents.loop.tool_call_state import ToolCallState

STATES: Final[dict[str, type[RunState]]] = {
    "agent": AgentState,
    "tool_call": ToolCallState,
    "extraction": ExtractionState,
}


def state_of(kind: str) -> type[RunState]:
    """Return the state of a kind; of one that this process does not know, what all kinds have."""
    return STATES.get(kind, RunState)
