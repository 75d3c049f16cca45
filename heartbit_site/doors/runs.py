"""Runs of doors: started with what a client sends, and what becomes of them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest
from agents.journal.events import CallWaiting
from agents.journal.waits import EXTERNAL
from agents.live import valkey_ends
from agents.live.updates import EventUpdate, Update
from agents.live.watchers import watch
from agents.models import Agent, Conversation, RunEvent
from agents.output.results import ResultOut
from agents.output.text import as_text
from agents.reads.hidden_memories import texts_hidden_from
from agents.reads.outcome import Outcome, read_outcome
from agents.runs.idempotency_keys import InternalKey
from heartbit_site.api.errors import UnauthorizedError
from heartbit_site.api.routes.events import BEAT_SECONDS, CHECK_SECONDS, with_silences
from heartbit_site.base import orm
from heartbit_site.base.access import Access, refresh_access
from heartbit_site.base.audit import starter_of
from heartbit_site.base.pictures import Picture
from heartbit_site.contract.operation import PendingAnswer
from heartbit_site.doors.requests import RequestError
from heartbit_site.doors.spoken import SpokenText
from heartbit_site.operations.attached import after_reading, attachments

T = TypeVar("T")

#: Time after which a request that waits for people gives up; its run does not.
LONGEST_SECONDS: Final = 3_600


def start(
    access: Access,
    agent: str,
    task: str,
    *,
    thread: Sequence[Mapping[str, Any]] = (),
    pictures: Sequence[Picture] = (),
    conversation: Conversation | None = None,
    schema: Mapping[str, Any] | None = None,
    client: Mapping[str, Any] | None = None,
    client_tools: Sequence[Mapping[str, Any]] = (),
    key: str | InternalKey | None = None,
) -> UUID:
    """Start a run, and return its id.

    Args:
        access: The caller.
        agent: Name of an agent or a workflow.
        task: The task.
        thread: Messages before it, as runs of a thread, each {task, output, steers} and images.
        pictures: Those of the thread's images and of the task's, in order (``with_pictures``).
        conversation: Conversation that it continues.
        schema: JSON Schema of the answer; None: the agent's own.
        client: Data that the protocol returns with the run (``kept_with``).
        client_tools: Tools that the client runs itself, each {name, description, parameters}.
        key: Idempotency key; None: a request that is sent again starts another run.

    Raises:
        HeartbitError: As ``admit``.
    """
    counts = [len(one.get("images", ())) for one in thread]
    left = iter(pictures)
    request = RunRequest(
        access.workspace,
        task,
        agent=agent,
        thread=[
            {name: value for name, value in one.items() if name != "images"}
            | ({"pictures": list(islice(left, count))} if count else {})
            for one, count in zip(thread, counts, strict=True)
        ],
        pictures=list(left),
        conversation=conversation,
        response_schema=schema,
        client=client or {},
        client_tools=client_tools,
        idempotency_key=key,
        by=starter_of(access),
    )
    return admit(request).run_id


def with_pictures(
    access: Access,
    agent: str,
    thread: Sequence[Mapping[str, Any]],
    images: Sequence[str],
    then: Callable[[Sequence[Picture]], T],
) -> T | PendingAnswer[T]:
    """Return what ``then`` does with a request's images re-encoded; it may use the ORM.

    Args:
        access: The caller.
        agent: Name of an agent or a workflow.
        thread: As for ``start``.
        images: Images beside the task, as data URLs; these and earlier ones are re-encoded.
        then: Starts the run.

    Raises:
        RequestError: A workflow is given images.
    """
    if images and takers(access).filter(name=agent).exclude(kind="agent").exists():
        raise RequestError("Images are for agents: a workflow reads text and data.")
    earlier = [image for one in thread for image in one.get("images", ())]
    given = attachments(access, [*earlier, *images])
    return then(()) if given is None else after_reading(access, given.read_pictures, then)


async def carry_out(begin: Callable[[], T | PendingAnswer[T]]) -> T:
    """Return what a function does in a thread that may use the ORM, images read in between."""
    found = await orm.run_in_thread(begin)
    if not isinstance(found, PendingAnswer):
        return found
    answer: Any = await found.wait()  # no answer of an operation, which may have a status
    result: T = answer
    return result


def takers(access: Access) -> QuerySet[Agent]:
    """Return the agents and workflows that take runs, by name."""
    rows = Agent.objects.filter(
        workspace=access.workspace, origin="", enabled=True, current_version__isnull=False
    )
    return rows.order_by("name")


def created_at(run_id: UUID) -> int:
    """Return the time of a run's creation, with which its id begins (RFC 9562), in seconds."""
    return (run_id.int >> 80) // 1_000


def kept_with(run_id: UUID) -> dict[str, Any]:
    """Return the data of the client's protocol that a run was started with."""
    events = RunEvent.objects.filter(run=run_id, seq=1)
    payload = events.values_list("payload", flat=True).first() or {}  # none after its retention
    found: dict[str, Any] = payload.get("client") or {}
    return found


async def ended(access: Access, run_id: UUID) -> Outcome:
    """Return the outcome of a run at its end, or as it is after a long time.

    Raises:
        UnauthorizedError: The caller's key was revoked meanwhile, or has lost the right to read.
    """
    began_at = time.monotonic()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_SECONDS):
            await valkey_ends.shared().result(run_id)
    await _check_right(access, began_at)
    return await orm.read_in_thread(partial(read_outcome, run_id))


async def _check_right(access: Access, checked_at: float) -> float:
    """Return the time of the last check of a key, or of a new one if some seconds have passed.

    Raises:
        UnauthorizedError: The key was revoked, or has lost the right to read.
    """
    is_command = access.via in ("terminal", "inline")  # of this machine
    if is_command or time.monotonic() - checked_at < CHECK_SECONDS:
        return checked_at
    now = await orm.run_in_thread(partial(refresh_access, access))
    if now is None or not now.allows("runs:read"):
        raise UnauthorizedError("The key of this request was revoked meanwhile.")
    return time.monotonic()


def content_of(result: ResultOut) -> str:
    """Return what the assistant says: a structured answer as JSON, else the text."""
    return as_text(result.structured) if result.structured is not None else result.text


async def updates_of(access: Access, run_id: UUID) -> AsyncGenerator[Sequence[Update], None]:
    """Yield the updates of a run in batches until its end; none after each time of silence.

    Raises:
        UnauthorizedError: The caller's key was revoked meanwhile, or has lost the right to read.
    """
    hidden = partial(texts_hidden_from, access, run_id)
    news = with_silences(watch(run_id, hidden=hidden), BEAT_SECONDS)
    checked_at = time.monotonic()
    async with contextlib.aclosing(news):
        async for batch in news:
            checked_at = await _check_right(access, checked_at)
            yield () if batch is None else batch.updates


async def texts_of(access: Access, run_id: UUID, *, after: int = 0) -> AsyncGenerator[str, None]:
    """Yield what a run says until it ends, or waits for its client; nothing after a silence.

    Args:
        access: The reader.
        run_id: The run.
        after: Sequence number of the last event that the client has heard.
    """
    said = SpokenText(run_id, after=after)
    async with contextlib.aclosing(updates_of(access, run_id)) as news:
        async for updates in news:
            text = "".join(map(said.take, updates))
            if text or not updates:
                yield text
            if any(_waits_for_client(one, run_id, after) for one in updates):
                return


async def whole_text(access: Access, run_id: UUID, *, after: int = 0) -> str:
    """Return what ``texts_of`` yields, after a long time as far as it goes.

    Raises:
        UnauthorizedError: As for ``ended``.
    """
    pieces: list[str] = []
    with contextlib.suppress(TimeoutError):
        async with (
            asyncio.timeout(LONGEST_SECONDS),
            contextlib.aclosing(texts_of(access, run_id, after=after)) as texts,
        ):
            async for piece in texts:
                pieces.append(piece)
    return "".join(pieces)


def _waits_for_client(update: Update, run_id: UUID, after: int) -> bool:
    """Return True if an update says that the run waits for its client."""
    if not isinstance(update, EventUpdate) or update.run_id != run_id:
        return False
    recorded, event = update.recorded, update.recorded.event
    waits = isinstance(event, CallWaiting) and event.kind == EXTERNAL.name
    return waits and recorded.seq > after


def streamed(events: AsyncIterator[bytes]) -> StreamingHttpResponse:
    """Return a response of server-sent events, which ends when the caller's key is revoked."""

    async def until_revoked() -> AsyncIterator[bytes]:
        given: Any = events
        with contextlib.suppress(UnauthorizedError):
            async with contextlib.aclosing(given):
                async for event in given:
                    yield event

    response = StreamingHttpResponse(
        until_revoked(), content_type="text/event-stream; charset=utf-8"
    )
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold it back
    return response
