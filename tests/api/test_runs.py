"""Runs through the API: start, wait, list, steer, cancel, converse."""

from __future__ import annotations

import concurrent.futures
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import httpx
import pytest

from agents.models import Agent, Delivery, Run, RunEvent
from heartbit_site.base.models import AuditEntry, UsageEntry
from heartbit_site.cli.views import outcome
from heartbit_site.operations.run_views import detail, detail_of_new
from tests.cli.test_run import TEAM

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller, WebServer
    from tests.fleet import Worker


@pytest.fixture
def parked(workspace: Workspace) -> str:
    """An agent whose queue nobody serves: its runs stay where they are."""
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")
    return "writer"


def test_a_team_answers_and_its_result_has_everything(caller: Caller, worker: Worker) -> None:
    accepted = caller.submit(TEAM)
    assert (accepted["agent"], accepted["placement"]) == ("orchestrator", "fleet")
    assert accepted["has_worker"]
    assert accepted["result"] is None
    ended = caller.ended(accepted["id"])
    assert ended["status"] == "succeeded"
    result = ended["result"]
    assert (result["status"], result["text"], result["error"]) == ("success", "All done.", None)
    assert result["finish_reason"] == "stop"
    assert result["metrics"]["tool_calls"] >= 2
    run = caller.get(f"/runs/{accepted['id'][:13]}").json()
    assert sorted(child["agent"] for child in run["children"]) == ["analyst", "writer"]
    assert run["result"] == result
    own = run["usage"]["output_tokens"]
    assert result["metrics"]["output_tokens"] > own, "its sub-agents' count too"
    assert datetime.fromisoformat(run["finished_at"]).utcoffset() is not None


def test_a_run_whose_worker_was_quicker_than_its_answer_is_shown_with_its_sub_agents(
    caller: Caller, worker: Worker
) -> None:
    run_id = caller.submit(TEAM)["id"]
    caller.ended(run_id)
    found = detail_of_new(UUID(run_id))
    assert len(found.children) == 2
    assert found == detail(Run.objects.get(pk=run_id))


def test_a_price_that_is_unknown_is_null(caller: Caller, parked: str) -> None:
    run = Run.objects.get(pk=caller.submit("x", agent=parked)["id"])

    def spend(cost: str | None) -> dict[str, Any]:
        UsageEntry.objects.create(
            workspace=run.workspace,
            run_id=run.pk,
            turn=1,
            model="openai:x",
            input_tokens=1,
            output_tokens=1,
            cost_usd=cost,
            at=run.created_at,
        )
        found: dict[str, Any] = caller.get(f"/runs/{run.pk}").json()
        return found

    assert spend("0.00120000")["cost_usd"] == "0.0012"
    assert spend(None)["cost_usd"] is None
    caller.post(f"/runs/{run.pk}/cancel")
    ended = caller.get(f"/runs/{run.pk}").json()
    assert ended["result"]["metrics"]["cost_usd"] is None


def test_a_run_is_what_the_command_line_prints(caller: Caller, parked: str) -> None:
    run = Run.objects.get(pk=caller.submit("x", agent=parked)["id"])
    printed = outcome.run_tree(detail(run))
    shown = caller.get(f"/runs/{run.pk}").json()
    assert {name: shown[name] for name in printed} == printed


def test_the_same_key_gives_the_same_run(caller: Caller, parked: str) -> None:
    key = f"order-{uuid4()}"

    def send(_: int) -> tuple[int, str]:
        response = caller.post("/runs", {"task": "x", "agent": parked}, **{"Idempotency-Key": key})
        return response.status_code, response.json()["id"]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert sorted(status for status, _ in answers) == [200] * 7 + [201]
    assert len({run for _, run in answers}) == 1


def test_a_key_that_was_used_for_another_request_is_refused(
    caller: Caller, parked: str, workspace: Workspace
) -> None:
    key = {"Idempotency-Key": "once"}
    thread = caller.post("/conversations", {"agent": parked}).json()["id"]
    body = {"task": "x", "agent": parked}
    first = caller.post("/runs", body, **key).json()["id"]
    others = {
        "task": {**body, "task": "y"},
        "agent": {**body, "agent": "analyst"},
        "conversation": {"task": "x", "conversation_id": thread},
    }
    for name, other in others.items():
        refused = caller.post("/runs", other, **key)
        assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_mismatch")
        assert refused.json()["detail"] == (
            f"The idempotency key was used for run {first}, which has another {name}: send the "
            "same request again, or take another key."
        )
    posted = caller.post(f"/conversations/{thread}/messages", {"text": "x"}, **key)
    assert posted.json()["code"] == "idempotency_mismatch"
    assert caller.post("/runs", body, **key).json()["id"] == first
    assert Run.objects.filter(workspace=workspace).count() == 1


def test_a_key_of_a_message_is_refused_for_another_text(caller: Caller, parked: str) -> None:
    body = {"agent": parked, "busy_policy": "steer"}
    thread = caller.post("/conversations", body).json()["id"]
    for key in ("starts", "steers"):
        headers = {"Idempotency-Key": key}
        posts = [
            caller.post(f"/conversations/{thread}/messages", {"text": text}, **headers)
            for text in (" One.", "One. ", "Two.")
        ]
        assert posts[0].is_success
        assert posts[1].json()["run_id"] == posts[0].json()["run_id"]
        assert posts[2].json()["code"] == "idempotency_mismatch"
        run = {"task": "Two.", "conversation_id": thread}
        assert caller.post("/runs", run, **headers).json()["code"] == "idempotency_mismatch"


def test_a_payload_is_the_task_in_its_long_form(caller: Caller, parked: str) -> None:
    payload = {"action": "review", "spec": "The module.", "inputs": {"a": 1}, "constraints": ["x"]}
    run = caller.post("/runs", {"payload": payload, "agent": parked}).json()
    assert run["payload"] == payload
    assert "# Task: review" in run["task"]
    bad = caller.post("/runs", {"payload": {"action": "Review!", "spec": "x"}, "agent": parked})
    assert bad.status_code == 422
    assert "one verb in lower case" in bad.json()["detail"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"task": "x", "agent": "writr"}, 404, "did you mean writer?"),
        ({"task": " "}, 422, "is empty"),
        ({}, 422, "is empty"),
        ({"task": "x", "model": "opnai:gpt"}, 422, "did you mean openai?"),
        ({"task": "x", "priority": 5000}, 422, "The field priority is not right"),
        ({"task": "x", "agnt": "y"}, 422, "There is no field agnt"),
        ({"task": 7}, 422, "The field task is not right"),
        ({"task": "x", "conversation_id": "nope"}, 404, "There is no conversation nope"),
        ({"task": "x", "conversation_id": "n", "priority": 1}, 422, "takes no agent"),
        ({"tsak": "x"}, 422, "There is no field tsak"),
    ],
)
def test_a_wrong_request_is_one_sentence(
    caller: Caller, body: dict[str, Any], status: int, words: str
) -> None:
    response = caller.post("/runs", body)
    assert response.status_code == status
    message = response.json()["detail"]
    assert words in message
    assert "\n" not in message


def test_the_list_has_pages_and_filters(caller: Caller, parked: str) -> None:
    ids = [caller.submit(f"task {number}", agent=parked)["id"] for number in range(5)]
    first = caller.get("/runs", limit=2).json()
    second = caller.get("/runs", limit=2, cursor=first["next_cursor"]).json()
    third = caller.get("/runs", limit=2, cursor=second["next_cursor"]).json()
    listed = [run["id"] for page in (first, second, third) for run in page["runs"]]
    assert listed == ids[::-1]
    assert third["next_cursor"] is None
    caller.post(f"/runs/{ids[0]}/cancel")
    cancelled = caller.get("/runs", status="cancelled", agent=parked).json()["runs"]
    assert [run["id"] for run in cancelled] == ids[:1]
    assert caller.get("/runs", agent="nobody").json()["runs"] == []
    assert caller.get("/runs", limit=0).status_code == 422
    assert caller.get("/runs", status="asleep").status_code == 422
    refused = caller.get("/runs", cursor="x")
    assert (refused.status_code, refused.json()["code"]) == (422, "cursor")


def test_cancel_ends_and_a_second_one_changes_nothing(caller: Caller, parked: str) -> None:
    run_id = caller.submit("x", agent=parked)["id"]
    assert caller.get(f"/runs/{run_id}/result").status_code == 202
    waited = caller.get(f"/runs/{run_id}/result", wait=0.2)
    assert (waited.status_code, waited.json()["result"]) == (202, None)
    for _ in range(2):
        assert caller.post(f"/runs/{run_id}/cancel").json()["status"] == "cancelled"
    ended = caller.get(f"/runs/{run_id}/result").json()
    assert ended["result"]["status"] == "failure"
    late = caller.post(f"/runs/{run_id}/steer", {"text": "hurry"})
    assert late.status_code == 409
    assert late.json()["code"] == "call_closed"


def test_a_run_is_steered(caller: Caller, worker: Worker) -> None:
    run_id = caller.submit("slow [[latency: 700]] [[text: First.]]", agent="writer")["id"]
    told = caller.post(f"/runs/{run_id}/steer", {"text": "Stop it. [[text: Steered.]]"})
    assert told.status_code == 200, told.text
    assert caller.ended(run_id)["result"]["text"] == "Steered."


def test_a_conversation_goes_on(caller: Caller, worker: Worker) -> None:
    thread = caller.post("/conversations", {"agent": "writer", "busy_policy": "reject"})
    assert thread.status_code == 201
    address = f"/conversations/{thread.json()['id']}/messages"
    first = caller.post(address, {"text": "Hello. [[text: Hi.]] [[latency: 600]]"}).json()
    busy = caller.post(address, {"text": "And?"})
    assert busy.status_code == 409
    assert busy.json()["code"] == "conversation_busy"
    caller.ended(first["run_id"])
    again = {"task": "More. [[text: More.]]", "conversation_id": thread.json()["id"]}
    second = caller.post("/runs", again)
    assert second.status_code == 201
    assert second.json()["conversation_id"] == thread.json()["id"]
    assert caller.ended(second.json()["id"])["result"]["text"] == "More."


def test_agents_and_tools_are_listed(caller: Caller, parked: str) -> None:
    agents = {agent["name"]: agent for agent in caller.get("/agents").json()["agents"]}
    assert set(agents["orchestrator"]["team"]) == {"researcher", "analyst", "writer"}
    assert agents[parked]["state"] == "idle"
    run_id = caller.submit("x", agent=parked)["id"]
    busy = caller.get(f"/agents/{parked}").json()
    assert (busy["state"], busy["current_run_id"]) == ("busy", run_id)
    assert busy["metrics"]["runs"] == 1
    missing = caller.get("/agents/writr")
    assert missing.status_code == 404
    assert "did you mean writer?" in missing.json()["detail"]
    tools = {tool["name"]: tool for tool in caller.get("/tools").json()["tools"]}
    assert tools["calculate"]["effect"] == "pure"
    assert tools["calculate"]["parameters"]["type"] == "object"


def test_health_needs_no_key(web: WebServer) -> None:
    response = httpx.get(f"{web.url}/api/v1/health")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_what_a_run_under_way_is_told_has_no_result_of_its_own(
    caller: Caller, parked: str, workspace: Workspace
) -> None:
    body = {"agent": parked, "busy_policy": "steer"}
    thread = caller.post("/conversations", body).json()["id"]
    to_ann = {"deliver": [{"kind": "email", "to": ["ann@example.org"]}]}
    live = caller.submit("First.", conversation_id=thread, **to_ann)["id"]
    to_bob = {"deliver": [{"kind": "email", "to": ["bob@example.org"]}]}
    second = {"task": "Second.", "conversation_id": thread}
    told = RunEvent.objects.filter(run_id=live, type="run.steered")
    seen = AuditEntry.objects.filter(workspace=workspace, action="run.steer")
    refused = caller.post("/runs", {**second, **to_bob}, **{"Idempotency-Key": "second"})
    assert (refused.status_code, refused.json()["code"]) == (409, "conversation_busy")
    assert refused.json()["detail"] == (
        f"The message would steer the active run {live}, so it has no result to "
        "deliver. Wait for it, or leave out deliver."
    )
    assert not told.exists()
    assert not seen.exists()
    steered = caller.post("/runs", second, **{"Idempotency-Key": "second"})
    assert (steered.status_code, steered.json()["id"]) == (200, live)
    assert told.count() == seen.count() == 1
    orders = Delivery.objects.filter(workspace=workspace)
    assert [order.target["to"] for order in orders] == [["ann@example.org"]]
