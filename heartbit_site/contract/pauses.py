"""Pauses of queues; halts of workspaces and of everything; disabled tools.

Each target is a line below, which declares two operations; functions of the same names in
``operations.pauses`` implement them.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from pydantic import Field

from agents.reads.views import PausedOut
from heartbit_site.contract.model import Body, Word
from heartbit_site.contract.operation import MANAGE, OPERATE, Needs, Operation


class PauseIn(Body):
    """Reason for a pause."""

    reason: Annotated[
        Word, Field(description="Reason, shown to people whose runs are blocked; may be empty.")
    ] = ""


class PauseStateOut(PausedOut):
    """State of a pause after a request."""

    paused: bool = Field(description="True if it is paused now; an operator's pause may remain.")
    changed: bool = Field(description="True if the request changed the state.")


class Holdable(NamedTuple):
    """A target of pauses, with the names of its two operations."""

    hold: Operation[PauseStateOut]
    free: Operation[PauseStateOut]


def _holdable(name: str, path: str, what: str, needs: Needs) -> Holdable:
    """Declare the two operations: pause or halt and resume; for a tool disable and enable."""
    hold, free = "halt", "resume"
    if name == "queue":
        hold = "pause"
    elif name.startswith("tool"):
        hold, free = "disable", "enable"
    return Holdable(
        Operation(
            f"pauses.{hold}_{name}", f"POST {path}/{hold}", PauseStateOut,
            f"{hold.title()} {what}", needs, body=PauseIn,
        ),
        Operation(
            f"pauses.{free}_{name}", f"POST {path}/{free}", PauseStateOut,
            f"{free.title()} {what}", needs,
        ),
    )  # fmt: skip


QUEUE = _holdable("queue", "/fleet/queues/{queue}", "a queue", OPERATE)
EVERYTHING = _holdable("everything", "/fleet", "everything", OPERATE)
ANY_WORKSPACE = _holdable("any_workspace", "/fleet/workspaces/{slug}", "any workspace", OPERATE)
TOOL = _holdable("tool", "/fleet/tools/{tool}", "a tool", OPERATE)
TOOL_IN_ANY_WORKSPACE = _holdable(
    "tool_in_any_workspace", "/fleet/workspaces/{slug}/tools/{tool}", "a tool in any workspace",
    OPERATE,
)  # fmt: skip
WORKSPACE = _holdable("workspace", "/workspace", "the workspace", MANAGE)
TOOL_IN_WORKSPACE = _holdable(
    "tool_in_workspace", "/workspace/tools/{tool}", "a tool in the workspace", MANAGE
)
