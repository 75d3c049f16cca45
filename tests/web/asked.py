"""Calls of the fleet's runs that wait for a person, as a program sees and decides them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.models import ToolCall
from tests.fleet import wait_until

if TYPE_CHECKING:
    from tests.api.server import Caller


def asked_of(caller: Caller, script: str, *, agent: str = "solo") -> dict[str, Any]:
    """The first call of a new run that waits, as GET /approvals shows it."""
    run = caller.submit(script, agent=agent)["id"]
    found = wait_until(
        lambda: [one for one in caller.get("/approvals").json()["calls"] if one["run_id"] == run],
        what="it waits",
    )
    assert isinstance(found[0], dict)
    return found[0]


def row_of(asked: dict[str, Any]) -> ToolCall:
    """Its row, as it is now."""
    calls = ToolCall.objects.select_related("run__workspace", "run__version__agent")
    return calls.get(run_id=asked["run_id"], call_id=asked["call_id"])


def address(asked: dict[str, Any]) -> str:
    """Where it is decided."""
    return f"/runs/{asked['run_id']}/calls/{asked['call_id']}/decision"
