"""Methods of A2A, whatever carries them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from agents.actions.runs import cancel_run
from agents.choices import TERMINAL
from agents.models import Run
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.doors.a2a.errors import (
    INVALID_PARAMS,
    NO_PUSH_NOTIFICATIONS,
    TASK_NOT_CANCELABLE,
    UNSUPPORTED_OPERATION,
    A2AError,
)
from heartbit_site.doors.a2a.messages import take
from heartbit_site.doors.a2a.requests import (
    Given,
    ListRequest,
    NoRequest,
    SendRequest,
    TaskRequest,
)
from heartbit_site.doors.a2a.stories import Piece, story_of
from heartbit_site.doors.a2a.tasks import find_task, list_tasks, task_of
from heartbit_site.doors.runs import LONGEST_SECONDS, ended

Answer = dict[str, Any] | AsyncGenerator[Piece, None]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a method.

    Attributes:
        access: The caller.
        agent: The agent that is spoken to; empty: the workspace.
        params: Parameters of the method, of its kind.
        last_event: Number of the last event that a reader has of a stream; empty: none.
    """

    access: Access
    agent: str
    params: Any
    last_event: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method.

    Attributes:
        kind: Kind of its parameters.
        scopes: Scopes that the caller's key needs.
        answer: Answers a call.
    """

    kind: type[Given]
    scopes: tuple[str, ...]
    answer: Callable[[Call], Awaitable[Answer]]


async def _send(call: Call) -> Answer:
    run, heard = await _taken(call)
    if not call.params.configuration.return_immediately:
        story = story_of(call.access, run, after=heard)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_SECONDS), contextlib.aclosing(story):
                async for _ in story:
                    pass  # until the task has ended, or asks something
    return {"task": await _told(call, run, call.params.configuration.history_length)}


async def _stream(call: Call) -> Answer:
    run, heard = await _taken(call)
    return story_of(call.access, run, after=heard)


async def _taken(call: Call) -> tuple[Run, int]:
    """Return the task of a message, and its last event before."""
    message = call.params.message
    if call.params.configuration.task_push_notification_config is not None:
        raise A2AError(NO_PUSH_NOTIFICATIONS, _NO_PUSH)

    def begin() -> tuple[Run, int]:
        run_id, heard = take(call.access, call.agent, message)
        return Run.objects.get(pk=run_id), heard

    return await orm.run_in_thread(begin)


async def _told(call: Call, run: Run, history_length: int | None) -> dict[str, Any]:
    has_history = history_length != 0
    return await orm.run_in_thread(lambda: task_of(call.access, run, history=has_history))


async def _found(call: Call) -> Run:
    return await orm.run_in_thread(lambda: find_task(call.access, call.agent, call.params.id))


async def _get(call: Call) -> Answer:
    return await _told(call, await _found(call), call.params.history_length)


async def _list(call: Call) -> Answer:
    return await orm.run_in_thread(lambda: list_tasks(call.access, call.agent, call.params))


async def _cancel(call: Call) -> Answer:
    run, by = await _found(call), actor_of(call.access)
    if run.status in TERMINAL:
        raise A2AError(TASK_NOT_CANCELABLE, f"The task has ended: it is {run.status}.")
    reason, workspace = f"cancelled by {by.name}", call.access.workspace
    await orm.run_in_thread(lambda: cancel_run(workspace, run.pk, reason=reason, by=by))
    await ended(call.access, run.pk)
    return await _told(call, run, None)


async def _subscribe(call: Call) -> Answer:
    run, last = await _found(call), call.last_event
    if last and not (last.isascii() and last.isdecimal() and len(last) < 10):
        raise A2AError(INVALID_PARAMS, "Last-Event-ID must be the id of an event of the stream.")
    if run.status in TERMINAL and not last:
        raise A2AError(UNSUPPORTED_OPERATION, "The task has ended: get it.")
    return story_of(call.access, run, after=int(last) if last else run.last_seq)


async def _push(call: Call) -> Answer:
    raise A2AError(NO_PUSH_NOTIFICATIONS, _NO_PUSH)


async def _extended_card(call: Call) -> Answer:
    raise A2AError(UNSUPPORTED_OPERATION, "There is one card, which needs a key already.")


_NO_PUSH: Final = "There are no push notifications: subscribe to the task, or use webhooks."
_READ: Final = ("runs:read",)
_WRITE: Final = ("runs:write", "runs:read")
METHODS: Final = {
    "SendMessage": Method(SendRequest, _WRITE, _send),
    "SendStreamingMessage": Method(SendRequest, _WRITE, _stream),
    "GetTask": Method(TaskRequest, _READ, _get),
    "ListTasks": Method(ListRequest, _READ, _list),
    "CancelTask": Method(TaskRequest, _WRITE, _cancel),
    "SubscribeToTask": Method(TaskRequest, _READ, _subscribe),
    "GetExtendedAgentCard": Method(NoRequest, (), _extended_card),
    **{
        f"{verb}TaskPushNotificationConfig{ending}": Method(NoRequest, (), _push)
        for verb, ending in (("Create", ""), ("Get", ""), ("List", "s"), ("Delete", ""))
    },
}
