"""The fleet: workers and queues; stop and restart; pauses, halts and disabled tools.

Each target of pauses is a line below, which declares two operations; functions of the same names in
``operations.fleet`` implement them.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from agents.reads.views import FleetOut, PausedOut
from heartbit_site.base.view import View
from heartbit_site.contract.model import Body, Word
from heartbit_site.contract.operation import MANAGE, OPERATE, Needs, Noun, Operation


class WorkerActionOut(View):
    """The action requested of a worker."""

    id: int
    requested_action: Literal["stop", "restart"]


NOUN = Noun("fleet", read=OPERATE, write=OPERATE)

SHOW_FLEET = NOUN.get("show_fleet", "/fleet", FleetOut, "Get the fleet")
STOP_WORKER = NOUN.post("stop_worker", "/fleet/workers/{worker_id}/stop", WorkerActionOut)
RESTART_WORKER = NOUN.post("restart_worker", "/fleet/workers/{worker_id}/restart", WorkerActionOut)


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
    noun = Noun("pauses", read=needs, write=needs, module="fleet")
    post = partial(noun.post, output=PauseStateOut)
    return Holdable(
        post(f"{hold}_{name}", f"{path}/{hold}", summary=f"{hold.title()} {what}", body=PauseIn),
        post(f"{free}_{name}", f"{path}/{free}", summary=f"{free.title()} {what}"),
    )


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
