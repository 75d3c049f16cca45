"""Agents over A2A, driven by the official client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.client import ClientCallContext
from a2a.client.errors import A2AClientError
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, Run, ToolBinding, ToolCall
from heartbit_site.base import orm
from tests.api.server import WebServer, key_for
from tests.askers import COLOUR, asker, script
from tests.conftest import new_workspace
from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from a2a.client import Client
    from a2a.types import AgentCard, StreamResponse

    from heartbit_site.base.models import Workspace
    from tests.api.server import Caller
    from tests.fleet import Worker
    from tests.teams import Team

SUM = '[[calls: calculate {"expression": "6*7"}]] [[text: Done.]]'
WORKER = ("runs:read", "runs:write", "agents:read")


class Door:
    """The door of one workspace, for clients with keys of it."""

    def __init__(self, web: WebServer, workspace: Workspace) -> None:
        self.web, self.workspace = web, workspace

    @asynccontextmanager
    async def http(self, scopes: Iterable[str] | None = None) -> AsyncIterator[httpx.AsyncClient]:
        given = () if scopes is None else (scopes,)
        key = await orm.run_in_thread(partial(key_for, self.workspace, *given))
        headers = {"Authorization": f"Bearer {key}"}
        async with httpx.AsyncClient(headers=headers, timeout=60) as http:
            yield http

    @asynccontextmanager
    async def client(
        self, agent: str, *, streaming: bool = True, scopes: Iterable[str] | None = None
    ) -> AsyncIterator[Client]:
        async with self.http(scopes) as http:
            yield await self.client_of(http, self.web, agent, streaming=streaming)

    async def client_of(
        self,
        http: httpx.AsyncClient,
        web: WebServer,
        agent: str = "writer",
        *,
        streaming: bool = False,
    ) -> Client:
        card = await A2ACardResolver(http, f"{web.url}/a2a/{agent}").get_agent_card()
        config = ClientConfig(streaming=streaming, httpx_client=http)
        return ClientFactory(config).create(card)


@pytest.fixture
def door(web: WebServer, worker: Worker, workspace: Workspace) -> Door:
    Agent.objects.filter(workspace=workspace).update(model="openai:fake")
    return Door(web, workspace)


def message(text: str = "", **fields: Any) -> Message:
    parts = fields.pop("parts", None) or [Part(text=text)]
    fields.setdefault("message_id", str(uuid4()))
    return Message(role=Role.ROLE_USER, parts=parts, **fields)


async def told(client: Client, sent: Message, **wishes: Any) -> list[StreamResponse]:
    """Send a message, and return all that the server tells about it."""
    configuration = SendMessageConfiguration(**wishes)
    request = SendMessageRequest(message=sent, configuration=configuration)
    return [one async for one in client.send_message(request)]


async def task_after(client: Client, sent: Message, **wishes: Any) -> Task:
    """Send a message without streaming, and return its task."""
    [found] = await told(client, sent, **wishes)
    return found.task


def answer_of(task: Task) -> str:
    [artifact] = task.artifacts
    return str(artifact.parts[0].text)


def ask_of(task: Task) -> Any:
    """Return the first thing that a task asks."""
    return task.status.message.parts[-1].data.struct_value["asks"][0]


def code_of(task: Task) -> str:
    """Return the code of the call that a task asks about."""
    return str(ask_of(task)["key"]).rpartition(":")[2][:12]


async def test_an_agent_has_a_card(door: Door) -> None:
    async with door.http() as http:
        card: AgentCard = await A2ACardResolver(http, f"{door.web.url}/a2a/writer").get_agent_card()
        assert (card.name, card.skills[0].id) == ("writer", "writer")
        [interface] = card.supported_interfaces
        assert interface.url == f"{door.web.url}/a2a/writer"
        assert (interface.protocol_binding, interface.protocol_version) == ("JSONRPC", "1.0")
        for place in (door.web.url, f"{door.web.url}/a2a"):
            workspace = await A2ACardResolver(http, place).get_agent_card()
            assert {"orchestrator", "writer"} <= {skill.id for skill in workspace.skills}
        assert (
            await http.get(f"{door.web.url}/a2a/nobody/.well-known/agent-card.json")
        ).status_code == 404
    assert httpx.get(f"{door.web.url}/a2a/writer/.well-known/agent-card.json").status_code == 401


async def test_a_message_begins_a_task_that_is_a_run(door: Door) -> None:
    async with door.client("writer", streaming=False) as client:
        sent = message("[[text: Done.]]")
        sent.metadata["order"] = "17"
        task = await task_after(client, sent)
        assert task.status.state == TaskState.TASK_STATE_COMPLETED
        assert answer_of(task) == "Done."
        assert task.history[0].message_id == sent.message_id
        assert task.metadata["order"] == "17"
        run = await Run.objects.aget(pk=task.id)
        assert (run.agent, run.status, run.workspace_id) == (
            "writer",
            "succeeded",
            door.workspace.pk,
        )
        assert str(run.conversation_id) == task.context_id
        assert await client.get_task(GetTaskRequest(id=task.id)) == task
        again = await task_after(client, sent)  # the client lost the answer
        assert again == task
        with pytest.raises(InvalidParamsError):
            await task_after(client, message("Other.", message_id=sent.message_id))


async def test_a_web_process_that_dies_meanwhile_repeats_nothing(door: Door) -> None:
    await Agent.objects.filter(workspace=door.workspace, name="writer").aupdate(queue="no-one")
    sent, runs = message("Wait."), Run.objects.filter(workspace=door.workspace)
    async with door.http() as http:  # one key, as one client has
        with WebServer() as first:
            asked = asyncio.ensure_future(task_after(await door.client_of(http, first), sent))
            await orm.run_in_thread(lambda: wait_until(runs.exists, what="it is accepted"))
            os.kill(first.pid, signal.SIGKILL)
            with pytest.raises(A2AClientError):
                await asked
        again = await door.client_of(http, door.web)
        task = await task_after(again, sent, return_immediately=True)
        assert [str(run.pk) async for run in runs] == [task.id]


async def test_a_context_is_a_conversation(door: Door, caller: Caller) -> None:
    async with door.client("writer", streaming=False) as client:
        first = await task_after(client, message("One. [[text: 1]]"))
        second = await task_after(client, message("Two. [[text: 2]]", context_id=first.context_id))
        assert second.context_id == first.context_id
        turn = caller.http.get(f"/runs/{second.id}/turns/1").json()["request"]
        assert [one["text"] for one in turn["messages"]] == [
            "One. [[text: 1]]",
            "1",
            "Two. [[text: 2]]",
        ]
        with pytest.raises(InvalidParamsError):
            await task_after(client, message("x", context_id=str(uuid4())))
    async with door.client("analyst", streaming=False) as other:
        with pytest.raises(InvalidParamsError, match="writer"):
            await task_after(other, message("x", context_id=first.context_id))


async def test_a_stream_tells_a_task_until_its_end(door: Door) -> None:
    async with door.client("writer") as client:
        found = await told(client, message("[[text: one two three]] [[stream: 200]]"))
        assert found[0].HasField("task")
        pieces = [one.artifact_update for one in found if one.HasField("artifact_update")]
        said = "".join(one.artifact.parts[0].text for one in pieces if not one.last_chunk)
        assert said == "one two three"
        assert [one.append for one in pieces][:2] == [False, len(pieces) > 2]
        assert (pieces[-1].last_chunk, pieces[-1].append) == (True, False)
        assert pieces[-1].artifact.parts[0].text == "one two three"
        assert found[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


async def test_a_stream_is_resumed_after_an_event(door: Door) -> None:
    async with door.http() as http:
        sent = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": SUM}]}
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage"}
        body["params"] = {"message": sent}
        ids = []
        async with http.stream("POST", f"{door.web.url}/a2a/analyst", json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("id: "):
                    ids.append(int(line.removeprefix("id: ")))
        assert ids == sorted(ids)
        run = await Run.objects.aget(task=SUM, workspace=door.workspace)
        task_id = str(run.pk)
        assert ids[-1] == run.last_seq
    async with door.client("analyst") as client:
        with pytest.raises(UnsupportedOperationError):
            [one async for one in client.subscribe(SubscribeToTaskRequest(id=task_id))]
        late = ClientCallContext(service_parameters={"Last-Event-ID": str(ids[1])})
        request = SubscribeToTaskRequest(id=task_id)
        found = [one async for one in client.subscribe(request, context=late)]
        assert [answer_of(one.task) for one in found] == ["Done."]
        odd = ClientCallContext(service_parameters={"Last-Event-ID": "x"})
        with pytest.raises(InvalidParamsError):
            [one async for one in client.subscribe(request, context=odd)]


def calls_wait(workspace: Workspace) -> None:
    """Let calls of the analyst's tool wait for a decision."""
    agent = Agent.objects.get(workspace=workspace, name="analyst")
    ToolBinding.objects.filter(agent=agent, tool="calculate").update(approval="always")
    publish_agent(agent)


async def test_an_approval_is_decided_once_by_a_message(door: Door) -> None:
    await orm.run_in_thread(lambda: calls_wait(door.workspace))
    async with door.client("analyst", streaming=False) as client:
        task = await task_after(client, message(SUM))
        assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        text = task.status.message.parts[0].text
        assert "6*7" in text
        with pytest.raises(InvalidParamsError, match="Reply `approve"):
            await task_after(client, message("approve", task_id=task.id))
        code = code_of(task)
        yes = message(f"approve {code}", task_id=task.id, context_id=task.context_id)
        done = await task_after(client, yes)
        assert (done.status.state, done.id) == (TaskState.TASK_STATE_COMPLETED, task.id)
        assert answer_of(done) == "Done."
        assert await task_after(client, yes) == done  # the client lost the answer
        with pytest.raises(UnsupportedOperationError, match="has ended"):
            await task_after(client, message("More.", task_id=task.id))
    assert await ToolCall.objects.filter(run_id=task.id).acount() == 1


async def test_a_call_is_denied_by_data(door: Door) -> None:
    await orm.run_in_thread(lambda: calls_wait(door.workspace))
    async with door.client("analyst") as client:
        found = await told(client, message(SUM))
        assert found[-1].status_update.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        task = await client.get_task(GetTaskRequest(id=found[0].task.id))
        no = Part()
        key = ask_of(task)["key"]
        no.data.struct_value.update({"key": key, "verdict": "deny", "reason": "Not today."})
        found = await told(client, message(parts=[no], task_id=task.id))
        assert found[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        with pytest.raises(UnsupportedOperationError):
            await told(client, message(parts=[no], task_id=task.id))
    call = await ToolCall.objects.aget(run_id=task.id)
    assert call.status == "refused"


async def test_a_key_that_may_not_decide_is_told_where_people_do(
    door: Door, caller: Caller
) -> None:
    await orm.run_in_thread(lambda: calls_wait(door.workspace))
    async with door.client("analyst", streaming=False, scopes=WORKER) as client:
        task = await task_after(client, message(SUM))
        assert task.status.state == TaskState.TASK_STATE_AUTH_REQUIRED
        assert f"/w/{door.workspace.slug}/inbox/" in task.status.message.parts[1].text
        code = code_of(task)
        with pytest.raises(UnsupportedOperationError, match="/inbox/"):
            await task_after(client, message(f"approve {code}", task_id=task.id))
    async with door.client("analyst", scopes=WORKER) as client:
        states = []
        async for one in client.subscribe(SubscribeToTaskRequest(id=task.id)):
            states.append(one.task.status.state)
        assert states == [TaskState.TASK_STATE_AUTH_REQUIRED]
        [waiting] = caller.get("/approvals").json()["calls"]
        place = f"/runs/{waiting['run_id']}/calls/{waiting['call_id']}/decision"
        caller.post(place, {"digest": waiting["digest"], "verdict": "approve"})
        caller.ended(task.id)
        assert answer_of(await client.get_task(GetTaskRequest(id=task.id))) == "Done."


async def test_a_question_is_answered_by_the_next_message(door: Door) -> None:
    await orm.run_in_thread(lambda: asker(door.workspace))
    await Agent.objects.filter(workspace=door.workspace).aupdate(model="openai:fake")
    async with door.client("asker", streaming=False) as client:
        task = await task_after(client, message(script("Which colour?", COLOUR)))
        assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        assert task.status.message.parts[0].text == "Which colour?"
        assert list(ask_of(task)["schema"]["enum"]) == COLOUR["enum"]
        with pytest.raises(InvalidParamsError, match="blue"):
            await task_after(client, message("blue", task_id=task.id))
        late = message("approve 0123456789ab", task_id=task.id)  # of a call that was decided
        with pytest.raises(InvalidParamsError, match="something else"):
            await task_after(client, late)
        done = await task_after(client, message("red", task_id=task.id))
        assert done.status.state == TaskState.TASK_STATE_COMPLETED
    call = await ToolCall.objects.aget(run_id=task.id)
    assert "red" in (call.result or "")


ASKING: dict[str, Any] = {
    "name": "digest",
    "steps": {
        "sum": {"tool": "calculate", "arguments": {"expression": "{{ input.n }} * 7"}},
        "fine": {
            "ask": "Is {{ steps.sum.output }} fine?",
            "form": {"type": "boolean"},
            "needs": "sum",
        },
    },
}


async def test_a_workflow_takes_data_asks_and_returns_data(door: Door, caller: Caller) -> None:
    made = caller.post("/workflows", ASKING)
    assert made.status_code == 201, made.text
    sent = Part()
    sent.data.struct_value.update({"n": 6})
    async with door.client("digest", streaming=False) as client:
        task = await task_after(client, message(parts=[sent]))
        assert task.status.message.parts[0].text == "Is 42 fine?"
        yes = Part()
        yes.data.bool_value = True
        answer = message(parts=[yes], task_id=task.id)
        done = await task_after(client, answer)
        assert done.status.state == TaskState.TASK_STATE_COMPLETED
        assert done.artifacts[0].parts[0].data.bool_value is True
        assert await task_after(client, answer) == done


async def test_of_several_questions_data_says_which_is_answered(door: Door, caller: Caller) -> None:
    steps = {name: {"ask": f"Which {name}?"} for name in ("tea", "cup")}
    made = caller.post("/workflows", {"name": "both", "steps": steps})
    assert made.status_code == 201, made.text
    async with door.client("both", streaming=False) as client:
        task = await task_after(client, message("Serve."))
        with pytest.raises(InvalidParamsError, match="something else"):
            await task_after(client, message("Green.", task_id=task.id))
        asks = task.status.message.parts[-1].data.struct_value["asks"]
        keys: dict[str, str] = {one["text"]: one["key"] for one in asks}
        for name, said, state in (
            ("cup", "Blue.", TaskState.TASK_STATE_INPUT_REQUIRED),
            ("tea", "Green.", TaskState.TASK_STATE_COMPLETED),
        ):
            reply = Part()
            reply.data.struct_value.update({"key": keys[f"Which {name}?"], "answer": said})
            task = await task_after(client, message(parts=[reply], task_id=task.id))
            assert task.status.state == state
        assert list(task.artifacts[0].parts[0].data.list_value) == ["Green.", "Blue."]


async def test_a_task_is_cancelled(door: Door) -> None:
    await Agent.objects.filter(workspace=door.workspace, name="writer").aupdate(queue="no-one")
    async with door.client("writer", streaming=False) as client:
        task = await task_after(client, message("Wait."), return_immediately=True)
        assert task.status.state == TaskState.TASK_STATE_SUBMITTED
        over = await client.cancel_task(CancelTaskRequest(id=task.id))
        assert over.status.state == TaskState.TASK_STATE_CANCELED
        with pytest.raises(TaskNotCancelableError):
            await client.cancel_task(CancelTaskRequest(id=task.id))


async def test_a_run_that_fails_is_a_task_that_failed(door: Door) -> None:
    async with door.client("writer", streaming=False) as client:
        task = await task_after(client, message("Over A2A. [[error: 400]]"))
        assert task.status.state == TaskState.TASK_STATE_FAILED
        assert "400" in task.status.message.parts[0].text


async def test_tasks_are_listed_in_pages(door: Door) -> None:
    async with door.client("writer", streaming=False) as client:
        made = [await task_after(client, message(f"[[text: {n}]]")) for n in range(3)]
        page = await client.list_tasks(ListTasksRequest(page_size=2))
        assert [one.id for one in page.tasks] == [made[2].id, made[1].id]
        assert (page.total_size, page.page_size) == (3, 2)
        assert not page.tasks[0].artifacts
        rest = await client.list_tasks(
            ListTasksRequest(page_token=page.next_page_token, include_artifacts=True)
        )
        assert ([answer_of(one) for one in rest.tasks], rest.next_page_token) == (["0"], "")
        of_context = ListTasksRequest(context_id=made[1].context_id)
        assert [one.id for one in (await client.list_tasks(of_context)).tasks] == [made[1].id]
        for state, number in (("COMPLETED", 3), ("WORKING", 0), ("INPUT_REQUIRED", 0)):
            wanted = ListTasksRequest(status=TaskState.Value(f"TASK_STATE_{state}"))
            assert len((await client.list_tasks(wanted)).tasks) == number
    async with door.client("analyst") as other:
        assert (await other.list_tasks(ListTasksRequest())).total_size == 0
        with pytest.raises(TaskNotFoundError):
            await other.get_task(GetTaskRequest(id=made[0].id))
    async with door.http() as http:
        card = await A2ACardResolver(http, door.web.url).get_agent_card()
        workspace = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        assert (await workspace.get_task(GetTaskRequest(id=made[0].id))).id == made[0].id


async def test_a_task_of_another_workspace_is_not_found(door: Door, team: Team) -> None:
    def other() -> Workspace:
        made = new_workspace()
        team.copy_to(made)
        return made

    async with door.client("writer", streaming=False) as client:
        task = await task_after(client, message("[[text: Done.]]"))
    async with Door(door.web, await orm.run_in_thread(other)).client("writer") as stranger:
        late = ClientCallContext(service_parameters={"Last-Event-ID": "1"})
        for asked in (
            stranger.get_task(GetTaskRequest(id=task.id)),
            stranger.cancel_task(CancelTaskRequest(id=task.id)),
            told(stranger, message("x", task_id=task.id)),
            anext(aiter(stranger.subscribe(SubscribeToTaskRequest(id=task.id), context=late))),
        ):
            with pytest.raises(TaskNotFoundError):
                await asked
        with pytest.raises(InvalidParamsError):
            await told(stranger, message("x", context_id=task.context_id))
        assert (await stranger.list_tasks(ListTasksRequest())).total_size == 0


async def test_files_are_refused(door: Door) -> None:
    async with door.client("writer", streaming=False) as client:
        with pytest.raises(ContentTypeNotSupportedError):
            await task_after(client, message(parts=[Part(raw=b"x", media_type="image/png")]))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "GetTask"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "Get"}', -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "message/send"}', -32009),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": 7}', -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "x"}}', -32001),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"pageToken": "x"}}',
            -32602,
        ),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {"pageSize": 0}}', -32602),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {}}}',
            -32602,
        ),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard"}', -32004),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ListTaskPushNotificationConfigs"}', -32602),
    ],
)
async def test_odd_requests_have_an_error_of_one_sentence(
    door: Door, content: bytes, code: int
) -> None:
    async with door.http() as http:
        found = await http.post(f"{door.web.url}/a2a/writer", content=content)
        assert found.status_code == 200
        error = found.json()["error"]
        assert error["code"] == code, error
        assert error["message"].endswith(".")


async def test_who_may_not_is_told_by_http(door: Door) -> None:
    body = {"jsonrpc": "2.0", "id": 7, "method": "ListTasks"}
    assert httpx.post(f"{door.web.url}/a2a/writer", json=body).status_code == 401
    async with door.http(("agents:read",)) as http:
        found = await http.post(f"{door.web.url}/a2a/writer", json=body)
        assert (found.status_code, found.json()["id"]) == (403, 7)
        assert "runs:read" in found.json()["error"]["message"]
        assert (await http.get(f"{door.web.url}/a2a/writer")).status_code == 405
        large = await http.post(f"{door.web.url}/a2a/writer", content=b"x" * 1_000_001)
        assert (large.status_code, large.json()["error"]["code"]) == (413, -32000)
        newer = {**body, "method": "GetExtendedAgentCard"}
        found = await http.post(
            f"{door.web.url}/a2a/writer", json=newer, headers={"A2A-Version": "2.0"}
        )
        assert found.json()["error"]["code"] == -32009


async def test_a_sub_agents_call_is_decided_too(door: Door) -> None:
    await orm.run_in_thread(lambda: calls_wait(door.workspace))
    made = json.dumps({"agent": "analyst", "task": SUM})
    async with door.client("orchestrator") as client:
        found = await told(client, message(f"[[delegate: {made}]] [[text: All done.]]"))
        assert found[-1].status_update.status.state == TaskState.TASK_STATE_INPUT_REQUIRED
        task = await client.get_task(GetTaskRequest(id=found[0].task.id))
        wanted = ListTasksRequest(status=TaskState.TASK_STATE_INPUT_REQUIRED)
        assert [one.id for one in (await client.list_tasks(wanted)).tasks] == [task.id]
        found = await told(client, message(f"approve {code_of(task)}", task_id=task.id))
        assert found[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED
        assert answer_of(await client.get_task(GetTaskRequest(id=task.id))) == "All done."
