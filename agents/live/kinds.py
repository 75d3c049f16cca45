"""View of each kind of run, by the kind's name (``agents.loop.kinds`` has the states)."""

from __future__ import annotations

from typing import Final

from agents.live.agent_view import AgentView
from agents.live.tool_call_view import ToolCallView
from agents.live.view import RunView

VIEWS: Final[dict[str, type[RunView]]] = {
    "agent": AgentView,
    "tool_call": ToolCallView,
    "extraction": AgentView,
}


def view_of(kind: str) -> type[RunView]:
    """Return the view of a kind; of one that this process does not know, what all kinds have."""
    return VIEWS.get(kind, RunView)
