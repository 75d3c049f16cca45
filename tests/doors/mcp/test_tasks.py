"""Runs as tasks: begun, asked about, answered, cancelled, across processes."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from agents.models import Agent, Decision, Run, ToolCall
from tests.api.server import WebServer, key_for
from tests.conftest import new_workspace
from tests.doors.mcp.conftest import Mcp
from tests.doors.mcp.tasks import Created, Tasks, ask, begin, until

if TYPE_CHECKING:
    from mcp.client import Client
    from mcp_types import CallToolResult

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller

SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
ASKED = '[[calls: ask_human {"question": "Which town?"}]] [[text: Thanks.]]'


@pytest.fixture
def asking(mcp: Mcp, caller: Caller) -> Mcp:
    """Connections to a workspace whose analyst asks before each call."""
    changed = caller.http.patch("/agents/analyst", json={"approval": "always"})
    assert changed.status_code == 200, changed.text
    return mcp


def connected(mcp: Mcp, use: Any, **options: Any) -> Any:
    return mcp.run(use, extensions=[Tasks()], **options)


async def waiting(client: Client) -> dict[str, Any]:
    task = await begin(client, "analyst", SUM)
    return await until(client, task.task_id, "input_required")


def test_a_call_is_a_task_and_its_result_that_of_the_call(mcp: Mcp) -> None:
    async def use(client: Client) -> Any:
        capabilities: Any = client.server_capabilities
        assert Tasks.identifier in capabilities.extensions
        begun = await begin(client, "writer", "[[text: Done.]]")
        return begun, await until(client, begun.task_id, "completed")

    begun, found = connected(mcp, use)
    assert begun.task_id == found["taskId"] == str(Run.objects.get(pk=begun.task_id).pk)
    assert found["result"]["content"] == [{"type": "text", "text": "Done."}]
    assert (found["ttlMs"], found["result"]["isError"]) == (None, False)
    assert found["createdAt"] <= found["lastUpdatedAt"]


def test_a_run_that_fails_completes_with_an_error(mcp: Mcp) -> None:
    async def use(client: Client) -> Any:
        begun = await begin(client, "writer", "[[error: 400]]")
        return await until(client, begun.task_id, "completed", "failed")

    assert connected(mcp, use)["result"]["isError"]


def test_an_approval_is_answered_and_the_same_task_goes_on(asking: Mcp) -> None:
    async def use(client: Client) -> Any:
        task = await waiting(client)
        [(key, request)] = task["inputRequests"].items()
        said = {key: {"action": "accept", "content": {"decision": "approve"}}}
        for _ in range(2):  # again: it is not open any more
            await ask(client, "tasks/update", task["taskId"], inputResponses=said)
        return request, await until(client, task["taskId"], "completed")

    request, found = connected(asking, use)
    assert request["method"] == "elicitation/create"
    assert "calculate" in request["params"]["message"]
    assert found["result"]["content"][0]["text"] == "Done."
    decision = Decision.objects.get(run_id=found["taskId"])
    assert (decision.verdict, decision.decided_by) == ("approved", "API key test")
    call = ToolCall.objects.get(run_id=found["taskId"])
    assert (call.status, call.result) == ("ok", "42")


@pytest.mark.parametrize(
    "said",
    [
        {"action": "decline"},
        {"action": "accept", "content": {"decision": "deny", "reason": "Too risky."}},
    ],
)
def test_a_denial_is_told_to_the_agent(asking: Mcp, said: dict[str, Any]) -> None:
    async def use(client: Client) -> Any:
        task = await waiting(client)
        [key] = task["inputRequests"]
        await ask(client, "tasks/update", task["taskId"], inputResponses={key: said})
        return await until(client, task["taskId"], "completed")

    found = connected(asking, use)
    call = ToolCall.objects.get(run_id=found["taskId"])
    assert call.status == "refused"
    assert said.get("content", {}).get("reason", "") in (call.result or "")


def test_answers_that_do_not_fit_are_refused_and_nothing_is_decided(asking: Mcp) -> None:
    async def use(client: Client) -> Any:
        task = await waiting(client)
        [key] = task["inputRequests"]
        update = partial(ask, client, "tasks/update", task["taskId"])
        for content, said in (
            ({"decision": "perhaps"}, "is not one of approve, deny"),
            ({}, "decision"),
        ):
            with pytest.raises(MCPError, match=said):
                await update(inputResponses={key: {"action": "accept", "content": content}})
        await update(inputResponses={key: {"action": "cancel"}, "nothing": {"action": "accept"}})
        return await until(client, task["taskId"], "input_required")

    found = connected(asking, use)
    assert not Decision.objects.filter(run_id=found["taskId"]).exists()


def test_a_question_is_answered_in_words(mcp: Mcp, caller: Caller) -> None:
    caller.http.patch("/agents/analyst", json={"tools": [{"name": "ask_human"}]})

    async def use(client: Client) -> Any:
        begun = await begin(client, "analyst", ASKED)
        task = await until(client, begun.task_id, "input_required", "completed")
        [(key, request)] = task["inputRequests"].items()
        said = {key: {"action": "accept", "content": {"answer": "Ulm"}}}
        await ask(client, "tasks/update", begun.task_id, inputResponses=said)
        return request["params"], await until(client, begun.task_id, "completed")

    asked, found = connected(mcp, use)
    assert asked["message"] == "Which town?"
    assert asked["requestedSchema"]["required"] == ["answer"]
    assert "Ulm" in (ToolCall.objects.get(run_id=found["taskId"]).result or "")


def test_what_is_still_asked_stays_while_the_run_goes_on(mcp: Mcp, caller: Caller) -> None:
    steps = {name: {"ask": f"Which {name}?"} for name in ("tea", "cup")}
    made = caller.post("/workflows", {"name": "both", "input": {"type": "object"}, "steps": steps})
    assert made.status_code == 201, made.text

    async def use(client: Client) -> Any:
        begun = await client.session.call_tool("both", {}, allow_claimed=True)
        assert isinstance(begun, Created)
        task = await until(client, begun.task_id, "input_required")
        while len(task["inputRequests"]) < 2:
            task = await ask(client, "tasks/get", begun.task_id)
        first, second = task["inputRequests"]
        said = {first: {"action": "accept", "content": {"answer": "Green."}}}
        await ask(client, "tasks/update", begun.task_id, inputResponses=said)
        for _ in range(20):
            task = await ask(client, "tasks/get", begun.task_id)
            assert (task["status"], [*task["inputRequests"]]) == ("input_required", [second])
        said = {second: {"action": "accept", "content": {"answer": "Blue."}}}
        await ask(client, "tasks/update", begun.task_id, inputResponses=said)
        return await until(client, begun.task_id, "completed")

    assert "Green." in str(connected(mcp, use)["result"]["content"])


def test_a_key_that_may_not_decide_sees_that_it_waits(asking: Mcp, workspace: Workspace) -> None:
    lesser = Mcp(asking.address, key_for(workspace, ["runs:read", "runs:write"]))
    task = connected(asking, waiting)

    async def use(client: Client) -> Any:
        said = {key: {"action": "decline"} for key in task["inputRequests"]}
        with pytest.raises(MCPError, match="approvals:decide"):
            await ask(client, "tasks/update", task["taskId"], inputResponses=said)
        return await ask(client, "tasks/get", task["taskId"])

    found = connected(lesser, use)
    assert (found["status"], "inputRequests" in found) == ("working", False)
    assert "waits for people" in found["statusMessage"]


def test_a_task_is_cancelled(mcp: Mcp, workspace: Workspace) -> None:
    Agent.objects.filter(workspace=workspace, name="writer").update(queue="nobody-serves-this")

    async def use(client: Client) -> Any:
        begun = await begin(client, "writer", "Wait.")
        for _ in range(2):
            await ask(client, "tasks/cancel", begun.task_id)
        return await until(client, begun.task_id, "cancelled")

    found = connected(mcp, use)
    assert found["statusMessage"] == "The run was cancelled."
    assert Run.objects.get(pk=found["taskId"]).status == "cancelled"


def test_tasks_of_others_and_none_are_not_found(asking: Mcp) -> None:
    task = connected(asking, waiting)
    stranger = Mcp(asking.address, key_for(new_workspace()))

    async def use(client: Client) -> None:
        for name in (task["taskId"], task["taskId"][:18], "x", "0" * 32):
            requests: tuple[tuple[str, dict[str, Any]], ...] = (
                ("tasks/get", {}),
                ("tasks/cancel", {}),
                ("tasks/update", {"inputResponses": {}}),
            )
            for method, more in requests:
                with pytest.raises(MCPError, match="There is no task") as refused:
                    await ask(client, method, name, **more)
                assert refused.value.code == -32602

    connected(stranger, use)
    assert Run.objects.get(pk=task["taskId"]).finished_at is None


def test_clients_without_the_extension_get_no_task_and_may_not_ask(asking: Mcp) -> None:
    task = connected(asking, waiting)

    async def use(client: Client) -> None:
        with pytest.raises(MCPError, match="client capability") as refused:
            await ask(client, "tasks/get", task["taskId"])
        assert refused.value.code == -32021

    asking.run(use)


def test_a_task_outlives_the_web_process_that_is_killed(asking: Mcp) -> None:
    with WebServer() as first:
        task = connected(Mcp(f"{first.url}/mcp", asking.key), waiting)
        os.kill(first.pid, signal.SIGKILL)

    async def use(client: Client) -> Any:
        same = await ask(client, "tasks/get", task["taskId"])
        assert same["inputRequests"] == task["inputRequests"]
        said = {
            key: {"action": "accept", "content": {"decision": "approve"}}
            for key in same["inputRequests"]
        }
        await ask(client, "tasks/update", task["taskId"], inputResponses=said)
        return await until(client, task["taskId"], "completed")

    assert connected(asking, use)["result"]["content"][0]["text"] == "Done."
    assert ToolCall.objects.get(run_id=task["taskId"]).status == "ok"


def test_a_client_that_shows_forms_is_asked_within_its_call(asking: Mcp) -> None:
    shown: list[str] = []

    async def decide(context: Any, params: Any) -> ElicitResult:
        shown.append(params.message)
        return ElicitResult(action="accept", content={"decision": "approve"})

    async def use(client: Client) -> CallToolResult:
        return await client.call_tool("analyst", {"task": SUM})

    found = asking.run(use, elicitation_callback=decide)
    assert [one.text for one in found.content if one.type == "text"] == ["Done."]
    [message] = shown
    assert json.dumps("6*7") in message


def test_a_person_who_puts_the_form_aside_is_not_asked_again(asking: Mcp, caller: Caller) -> None:
    shown = threading.Event()
    count: list[str] = []

    async def put_aside(context: Any, params: Any) -> ElicitResult:
        count.append(params.message)
        shown.set()
        return ElicitResult(action="cancel")

    async def use(client: Client) -> CallToolResult:
        return await client.call_tool("analyst", {"task": SUM})

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        calling = pool.submit(asking.run, use, elicitation_callback=put_aside)
        assert shown.wait(30)
        [call] = caller.get("/approvals").json()["calls"]
        body = {"digest": call["digest"], "verdict": "approve"}
        caller.post(f"/runs/{call['run_id']}/calls/{call['call_id']}/decision", body)
        found = calling.result(timeout=60)
    assert [one.text for one in found.content if one.type == "text"] == ["Done."]
    assert len(count) == 1
