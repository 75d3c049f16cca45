"""A run's events as server-sent events: those of the journal, then new ones until the end.

    id: 3
    event: model.answered
    data: {"type": "event", "run_id": "0199...", "seq": 3, "at": ..., "event": ..., "payload": ...}

A reader that reconnects sends its position (``Last-Event-ID``): Postgres has every event, so none
is missing or repeated. Streamed text (``event: delta``) has no id.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Annotated, Any, TypeVar
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from ninja import Header, Query, Router

from agents.journal.events import Closing, ModelAnswered
from agents.live.follow import TreeReader
from agents.live.page_lines import Shown, take
from agents.live.tree_view import TreeView, to_json_line
from agents.live.updates import DeltaUpdate, EventUpdate, ProgressUpdate, RunUpdate, Update
from agents.live.watchers import watch
from agents.models import Run
from agents.querysets import find_run
from agents.reads.hidden_memories import texts_hidden_from
from heartbit_site.api.auth import READ_RUNS, access_of
from heartbit_site.api.openapi import STREAM, answers
from heartbit_site.base import orm
from heartbit_site.base.access import Access, is_session_valid, refresh_access
from heartbit_site.contract.model import Word

_T = TypeVar("_T")
_R = TypeVar("_R", bound=HttpResponseBase)

BEAT_SECONDS = 15.0
CHECK_SECONDS = 15.0  # how soon a stream ends whose key was revoked, or whose reader logged out
BEAT = b": \n\n"


class Selection:
    """The updates of a tree that a reader wants, with the time of the last one.

    Args:
        run: The run that is read.
        after: The last event of that run that the reader has.
        whole_tree: True to include its sub-agents' events.
    """

    def __init__(self, run: Run, *, after: int, whole_tree: bool) -> None:
        self._run_id = run.pk
        self._after = after
        self._whole_tree = whole_tree
        self._answered: dict[UUID, int] = {}
        self.over = False

    def wants(self, update: Update) -> bool:
        """Return True if the reader wants an update."""
        match update:
            case RunUpdate():
                return self._whole_tree
            case DeltaUpdate(run_id, delta):
                # The window is read from its beginning: what is journaled by now is old.
                return self._has(run_id) and delta.turn > self._answered.get(run_id, 0)
            case ProgressUpdate(run_id):
                return self._has(run_id)
            case EventUpdate(run_id, recorded):
                if isinstance(recorded.event, ModelAnswered):
                    self._answered[run_id] = recorded.event.turn
                if run_id == self._run_id and isinstance(recorded.event, Closing):
                    self.over = not self._whole_tree
                if run_id != self._run_id:
                    return self._whole_tree
                return recorded.seq > self._after

    def _has(self, run_id: UUID) -> bool:
        return self._whole_tree or run_id == self._run_id


async def events_of(
    run: Run,
    access: Access,
    selection: Selection,
    still_allowed: Callable[[], Awaitable[bool]],
) -> AsyncIterator[bytes]:
    """Yield the stream of a run, with a keep-alive comment every 15 seconds.

    Args:
        run: The run.
        access: The reader.
        selection: What of its tree is sent.
        still_allowed: Called every 15 seconds; the stream ends when it returns False.
    """
    updates = with_silences(_updates(run.root_id, access), BEAT_SECONDS)
    checked_at = time.monotonic()
    async with contextlib.aclosing(updates):
        async for one in updates:
            if time.monotonic() - checked_at > CHECK_SECONDS:
                checked_at = time.monotonic()
                if not await still_allowed():
                    return
            if one is None:
                yield BEAT
            elif selection.wants(one.update):
                yield message(one, run.pk)
            if selection.over:
                break
    yield _encode("end", {"type": "end", "run_id": str(run.pk)})


async def _updates(root_id: UUID, access: Access) -> AsyncGenerator[Shown, None]:
    hidden = partial(texts_hidden_from, access, root_id)
    async with contextlib.aclosing(watch(root_id, hidden=hidden)) as batches:
        async for batch in batches:
            for one in batch.shown:
                yield one


def message(one: Shown, run_id: UUID) -> bytes:
    """Return one server-sent event; only events of the run that is read have an id."""
    update, data = one.update, to_json_line(one.update, one.run)
    if not isinstance(update, EventUpdate):
        return _encode(data["type"], data)
    seq = update.recorded.seq if update.run_id == run_id else None
    return _encode(data["event"], data, seq)


def recorded(run: Run, access: Access, selection: Selection) -> list[bytes]:
    """Yield the stream of a run up to the present end of its journal."""
    view = TreeView()
    reader = TreeReader(run.root_id, texts=texts_hidden_from(access, run.root_id))
    taken = [take(view, update) for update in reader.read_new()]
    return [message(one, run.pk) for one in taken if selection.wants(one.update)]


def _encode(event: str, data: dict[str, Any], seq: int | None = None) -> bytes:
    head = f"id: {seq}\n" if seq is not None else ""
    text = json.dumps(data, separators=(",", ":"))  # ASCII: no line break but the escaped ones
    return f"{head}event: {event}\ndata: {text}\n\n".encode()


async def with_silences(
    source: AsyncGenerator[_T, None], seconds: float
) -> AsyncGenerator[_T | None, None]:
    """Yield updates of the source, and None after each time without one."""
    asking: asyncio.Task[_T] | None = None
    try:
        while True:
            asking = asking or asyncio.ensure_future(_next(source))
            done, _ = await asyncio.wait([asking], timeout=seconds)
            if not done:
                yield None
                continue
            task, asking = asking, None
            try:
                found = task.result()
            except StopAsyncIteration:
                return
            yield found
    finally:
        if asking is not None:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
        await source.aclose()


async def _next(source: AsyncIterator[_T]) -> _T:
    return await anext(source)


router = Router(tags=["runs"])

Seq = Annotated[
    int,
    Query(ge=0, le=2**31 - 1, description="Sequence number of the last event that the reader has."),
]
LastSeq = Annotated[
    int | None,
    Header(
        alias="Last-Event-ID",
        ge=0,
        le=2**31 - 1,
        description="Like `after`, as sent by EventSource.",
    ),
]


@router.get(
    "/runs/{run_id}/events",
    auth=READ_RUNS,
    response=answers(str, 404),
    operation_id="follow_run",
    summary="Follow a run",
    openapi_extra=STREAM,
)
def stream(
    request: HttpRequest,
    run_id: Word,
    *,
    after: Seq = 0,
    last_event_id: LastSeq = None,
    tree: Annotated[
        bool,
        Query(
            description="Include the events of all runs of the tree; only the run's own have ids."
        ),
    ] = False,
    follow: Annotated[bool, Query(description="Wait for further events.")] = True,
) -> Any:
    """Stream the events after a sequence number until the run ends."""
    access = access_of(request)
    run = find_run(access, run_id)
    selection = Selection(run, after=max(after, last_event_id or 0), whole_tree=tree)

    if follow:
        allowed = allowed_now(request, access)
        return as_stream(StreamingHttpResponse(events_of(run, access, selection, allowed)))
    return as_stream(HttpResponse(b"".join(recorded(run, access, selection))))


def as_stream(response: _R) -> _R:
    """Return a response as one of server-sent events."""
    response["Content-Type"] = "text/event-stream; charset=utf-8"
    response["Cache-Control"] = "no-store"
    response["X-Accel-Buffering"] = "no"  # nginx would hold it back
    return response


def allowed_now(request: HttpRequest, access: Access) -> Callable[[], Awaitable[bool]]:
    """Return a check that the follower still has every right that the stream began with."""
    session_key = request.session.session_key if access.key_id is None else None

    async def allowed() -> bool:
        return await orm.run_in_thread(lambda: _still(access, session_key))

    return allowed


def _still(access: Access, session_key: str | None) -> bool:
    """Return True if the follower still has every right that the stream began with."""
    if access.key_id is None and not is_session_valid(session_key, access.user_id):
        return False
    now = refresh_access(access)
    return now is not None and access.scopes <= now.scopes
