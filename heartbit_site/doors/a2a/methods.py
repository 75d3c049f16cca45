"""Methods of A2A, whatever carries them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction

from agents.actions.runs import cancel_run
from agents.choices import TERMINAL
from agents.models import Run
from heartbit_site.base import orm
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.doors.a2a.errors import (
    INVALID_PARAMS,
    TASK_NOT_CANCELABLE,
    UNSUPPORTED_OPERATION,
    A2AError,
)
from heartbit_site.doors.a2a.messages import take
from heartbit_site.doors.a2a.pushes import add_push, get_push, list_pushes, remove_push
from heartbit_site.doors.a2a.requests import (
    Given,
    ListRequest,
    NamedPushRequest,
    NoRequest,
    PushesRequest,
    PushRequest,
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
    receiver = call.params.configuration.task_push_notification_config

    def begin() -> tuple[Run, int]:
        with transaction.atomic():
            run_id, heard = take(call.access, call.agent, message)
            run = Run.objects.get(pk=run_id)
            if receiver is not None:
                add_push(call.access, run, receiver)
        return run, heard

    return await orm.run_in_thread(begin)


async def _told(call: Call, run: Run, history_length: int | None) -> dict[str, Any]:
    has_history = history_length != 0
    return await orm.run_in_thread(lambda: task_of(call.access, run, history=has_history))


async def _found(call: Call) -> Run:
    return await orm.run_in_thread(lambda: _find(call, call.params.id))


def _find(call: Call, task_id: str) -> Run:
    return find_task(call.access, call.agent, task_id)


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


def _push_method(
    kind: type[Given], scopes: tuple[str, ...], do: Callable[[Call, Run], dict[str, Any]]
) -> Method:
    """Return a method of the receivers of one task."""

    async def answer(call: Call) -> Answer:
        return await orm.run_in_thread(lambda: do(call, _find(call, call.params.task_id)))

    return Method(kind, scopes, answer)


async def _extended_card(call: Call) -> Answer:
    raise A2AError(UNSUPPORTED_OPERATION, "There is one card, which needs a key already.")


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
    "CreateTaskPushNotificationConfig": _push_method(
        PushRequest, _WRITE, lambda call, run: add_push(call.access, run, call.params)
    ),
    "GetTaskPushNotificationConfig": _push_method(
        NamedPushRequest, _READ, lambda call, run: get_push(run, call.params.id)
    ),
    "ListTaskPushNotificationConfigs": _push_method(
        PushesRequest, _READ, lambda _, run: list_pushes(run)
    ),
    "DeleteTaskPushNotificationConfig": _push_method(
        NamedPushRequest, _WRITE, lambda call, run: remove_push(run, call.params.id)
    ),
}
