"""Idempotency keys that Heartbit makes for itself are not taken from callers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import Run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller


def test_a_key_of_heartbits_own_is_refused_in_a_sentence(
    caller: Caller, workspace: Workspace
) -> None:
    plan = caller.post(
        "/schedules", {"name": "R", "agent": "writer", "task": "x", "every_seconds": 3600}
    ).json()
    key = f"schedule:{plan['id']}:2027-01-01T00:00:00+00:00"
    thread = caller.post("/conversations", {"agent": "writer"}).json()["id"]
    source = caller.submit("x", agent="writer")["id"]
    requests: tuple[tuple[str, dict[str, object]], ...] = (
        ("/runs", {"task": "Mine.", "agent": "writer"}),
        ("/runs", {"task": "Mine.", "conversation_id": thread}),
        (f"/conversations/{thread}/messages", {"text": "Mine."}),
        (f"/runs/{source}/fork", {"turn": 0}),
        (f"/schedules/{plan['id']}/run", {}),
    )
    for path, body in requests:
        refused = caller.post(path, body, **{"Idempotency-Key": key})
        assert (refused.status_code, refused.json()["code"]) == (422, "reserved_key"), path
        assert "begins with 'schedule:', which is reserved" in refused.json()["detail"]
    assert not Run.objects.filter(workspace=workspace, idempotency_key=key).exists()
