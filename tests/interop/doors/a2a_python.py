"""A2A's own SDK for Python: cards, tasks, streams, questions, approvals."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
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

from tests.interop.doors.calls import Calls
from tests.interop.doors.heartbit import SUM

if TYPE_CHECKING:
    from a2a.client import Client
    from a2a.types import StreamResponse

    from tests.interop.doors.heartbit import Heartbit

SECONDS = 120.0
ASKS = '[[calls: ask_human {"question": "Which colour?"}]] [[text: Thank you.]]'


def drive(heartbit: Heartbit) -> int:
    """Do everything that the door has; the number of requests."""
    return asyncio.run(asyncio.wait_for(_drive(heartbit), SECONDS))


async def _drive(heartbit: Heartbit) -> int:
    calls = Calls()
    headers = {"Authorization": f"Bearer {heartbit.key}"}
    async with httpx.AsyncClient(
        headers=headers, timeout=60, event_hooks=calls.async_hooks()
    ) as http:

        async def client(agent: str, *, streaming: bool = False) -> Client:
            card = await A2ACardResolver(http, f"{heartbit.url}/a2a/{agent}").get_agent_card()
            return ClientFactory(ClientConfig(streaming=streaming, httpx_client=http)).create(card)

        await A2ACardResolver(http, heartbit.url).get_agent_card()
        await _tasks(await client("writer"))
        await _stream(await client("writer", streaming=True))
        await _approval(await client("analyst"))
        await _question(await client("asker"))
        waits = await _task(await client("sleeper"), "Wait.", now=True)
        await _cancelled(await client("sleeper", streaming=True), waits.id)
    return calls.count


async def _told(
    client: Client, text: str, *, now: bool = False, **more: Any
) -> list[StreamResponse]:
    message = Message(role=Role.ROLE_USER, message_id=str(uuid4()), parts=[Part(text=text)], **more)
    wishes = SendMessageConfiguration(return_immediately=now)
    request = SendMessageRequest(message=message, configuration=wishes)
    return [one async for one in client.send_message(request)]


async def _task(client: Client, text: str, **more: Any) -> Task:
    [found] = await _told(client, text, **more)
    return found.task


async def _tasks(client: Client) -> None:
    first = await _task(client, "[[text: Done.]]")
    assert first.status.state == TaskState.TASK_STATE_COMPLETED, first
    assert first.artifacts[0].parts[0].text == "Done.", first
    assert await client.get_task(GetTaskRequest(id=first.id)) == first
    second = await _task(client, "[[text: Again.]]", context_id=first.context_id)
    listed = await client.list_tasks(ListTasksRequest(context_id=first.context_id))
    assert [one.id for one in listed.tasks] == [second.id, first.id], listed
    failed = await _task(client, "[[error: 400]]")
    assert failed.status.state == TaskState.TASK_STATE_FAILED, failed


async def _stream(client: Client) -> None:
    found = await _told(client, "[[text: one two three]] [[stream: 100]]")
    assert found[0].HasField("task"), found
    pieces = [one.artifact_update for one in found if one.HasField("artifact_update")]
    assert pieces[-1].artifact.parts[0].text == "one two three", pieces
    assert found[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED, found


async def _approval(client: Client) -> None:
    task = await _task(client, SUM)
    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, task
    asks: Any = task.status.message.parts[-1].data.struct_value["asks"]
    code = str(asks[0]["key"]).rpartition(":")[2][:12]
    done = await _task(client, f"approve {code}", task_id=task.id)
    assert done.status.state == TaskState.TASK_STATE_COMPLETED, done


async def _question(client: Client) -> None:
    task = await _task(client, ASKS)
    assert task.status.state == TaskState.TASK_STATE_INPUT_REQUIRED, task
    done = await _task(client, "red", task_id=task.id)
    assert done.artifacts[0].parts[0].text == "Thank you.", done


async def _cancelled(client: Client, task_id: str) -> None:
    """A task that waits is subscribed to, and cancelled meanwhile."""
    told = []
    async for one in client.subscribe(SubscribeToTaskRequest(id=task_id)):
        told.append(one)
        if len(told) == 1:
            await client.cancel_task(CancelTaskRequest(id=task_id))
    assert told[0].task.status.state == TaskState.TASK_STATE_SUBMITTED, told
    assert told[-1].status_update.status.state == TaskState.TASK_STATE_CANCELED, told
