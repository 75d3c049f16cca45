"""The past through the API: turns, forks, versions, rollbacks; nothing of another workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agents.actions.fleet import pause_work, resume_work
from agents.limits.pauses import of_workspace
from agents.models import Agent, Run
from heartbit_site.base.audit import Actor
from tests.api.server import Caller, key_for
from tests.versions.conftest import keeper

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import WebServer
    from tests.fleet import Worker

__all__ = ["keeper"]

SUM = 'Do it. [[calls: calculate {"expression": "6*7"}]] [[text: It is 42.]]'


def test_a_turn_and_a_fork(caller: Caller, worker: Worker) -> None:
    source = caller.submit(SUM, agent="analyst")
    caller.ended(source["id"])
    listed = caller.get(f"/runs/{source['id']}/turns").json()["turns"]
    assert [(turn["number"], turn["tools"]) for turn in listed] == [(1, ["calculate"]), (2, [])]
    turn = caller.get(f"/runs/{source['id'][:13]}/turns/1").json()
    assert turn["request"]["messages"] == [{"role": "user", "text": SUM}]
    assert turn["calls"][0]["result"] == "42"
    body = {"turn": 1, "message": "Now [[text: Bye.]]"}
    path = f"/runs/{source['id']}/fork"
    made = caller.http.post(path, json=body, headers={"Idempotency-Key": "once"})
    again = caller.http.post(path, json=body, headers={"Idempotency-Key": "once"})
    assert (made.status_code, again.status_code) == (201, 200)
    assert made.json()["id"] == again.json()["id"]
    assert made.json()["forked_from_id"] == source["id"]
    result = caller.ended(made.json()["id"])["result"]
    assert (result["text"], result["metrics"]["model_calls"]) == ("Bye.", 1)


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "turn is missing"),
        ({"turn": 1}, 404, "no turn 1; its turns are: none yet"),
        ({"turn": 0, "call_id": "one"}, 422, "call_id is not right"),
        ({"turn": 0, "arguments": {}}, 422, "a call"),
        ({"turn": 0, "version": 9}, 404, "no version 9"),
    ],
)
def test_a_fork_that_cannot_be_is_refused(
    caller: Caller, workspace: Workspace, body: dict[str, object], status: int, words: str
) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    run = caller.submit("x", agent="writer")["id"]
    refused = caller.post(f"/runs/{run}/fork", body)
    assert (refused.status_code, words in refused.text) == (status, True), refused.text
    assert not Run.objects.filter(forked_from=run).exists()


def test_given_a_stopped_workspace_then_neither_fork_nor_retry_starts_a_run(
    caller: Caller, workspace: Workspace
) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    run = caller.submit("x", agent="writer")["id"]
    caller.post(f"/runs/{run}/cancel", {})
    by, held = Actor("ann", "terminal"), of_workspace(workspace)
    pause_work(held, by=by)
    try:
        asked = [
            caller.post("/runs", {"task": "x", "agent": "writer"}),
            caller.post(f"/runs/{run}/fork", {"turn": 0}),
            caller.post(f"/runs/{run}/retry", {}),
        ]
    finally:
        resume_work(held, by=by)
    assert [refused.status_code for refused in asked] == [409, 409, 409]
    assert len({refused.json()["detail"] for refused in asked}) == 1
    assert "was stopped by ann, so no run starts" in asked[1].json()["detail"]
    assert not Run.objects.filter(forked_from=run).exists()


def test_versions_are_listed_compared_and_brought_back(
    caller: Caller, web: WebServer, keeper: Agent
) -> None:
    listed = caller.get("/agents/keeper/versions").json()["versions"]
    assert [(v["number"], v["current"], v["runs"]) for v in listed] == [
        *((3, True, 0), (2, False, 0), (1, False, 0))
    ]
    assert caller.get("/agents/keeper/versions/1").json()["snapshot"]["team"] == []
    found = caller.get("/agents/keeper/versions/diff").json()
    assert (found["older"], found["newer"], found["changed"]) == (2, 3, True)
    assert {"name": "limits.max_turns", "before": 10, "after": 3} in found["fields"]
    same = caller.get("/agents/keeper/versions/diff", older=2, newer=2).json()
    assert not same["changed"]
    done = caller.post("/agents/keeper/versions/1/rollback", {})
    assert done.json() == {"agent": "keeper", "version": 1, "requested_version": 1, "differs": ""}
    keeper.refresh_from_db()
    assert keeper.system_prompt == "One.\nTwo.\n"
    assert caller.post("/agents/keeper/versions/9/rollback", {}).status_code == 404
    reader = Caller(web, key_for(keeper.workspace, ["agents:read", "runs:write"]))
    with reader.http:
        assert reader.post("/agents/keeper/versions/2/rollback", {}).status_code == 403
