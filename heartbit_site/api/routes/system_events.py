"""A workspace's system events as server-sent events: those after a place, then new ones.

    id: 81642-1764490000000000-0199...:000000003
    event: run.started
    data: {"id": "81642-...", "type": "run.started", "subject": "run:0199...", "data": {...}, ...}

A reader that reconnects sends the last id (``Last-Event-ID``), and misses and repeats nothing. A
silent stream sends the id of its place from time to time, without an event.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Header, Query, Router

from agents.system_events.reader import Position, Wanted, follow_events, now, read_events
from agents.system_events.types import MOST_PATTERNS, EventOut
from heartbit_site.api.auth import READ_RUNS, access_of
from heartbit_site.api.openapi import answers, stream_of
from heartbit_site.api.routes.events import BEAT_SECONDS, CHECK_SECONDS, allowed_now, as_stream
from heartbit_site.base.access import Access
from heartbit_site.contract.events import Pattern
from heartbit_site.contract.model import Moment, Word

router = Router(tags=["events"])


@router.get(
    "/events",
    auth=READ_RUNS,
    response=answers(EventOut),
    operation_id="follow_events",
    summary="Follow the workspace's events",
    openapi_extra=stream_of(
        "`event: TYPE` with `id:`; `data:` is a JSON object, see the schema `EventOut`."
    ),
)
def stream(
    request: HttpRequest,
    *,
    type: Annotated[
        list[Pattern],
        Query(
            [],
            max_length=MOST_PATTERNS,
            description="Types of events, or patterns such as `run.*`; repeat it for several, "
            "leave it out for all.",
        ),
    ] = [],  # noqa: B006  ninja takes no factory
    agent: Annotated[Word, Query("", description="Only events about this agent.")] = "",
    after: Annotated[
        Word,
        Query("", description="`id` of the last event that the reader has; empty: from now on."),
    ] = "",
    since: Annotated[
        Moment | None, Query(None, description="Begin with the events since this time instead.")
    ] = None,
    last_event_id: Annotated[
        Word,
        Header("", alias="Last-Event-ID", description="Like `after`, as sent by EventSource."),
    ] = "",
    follow: Annotated[bool, Query(description="Wait for further events.")] = True,
) -> Any:
    """Stream the events after a place until the reader leaves or may no longer read."""
    access = access_of(request)
    wanted = Wanted.of(type, agent)
    number = last_event_id or after
    begin = now() if since is None else Position(0, since)
    place = Position.parse(number) if number else begin
    if not follow:
        return as_stream(HttpResponse(b"".join(_recorded(access, place, wanted))))
    body = _followed(access, place, wanted, allowed_now(request, access))
    return as_stream(StreamingHttpResponse(body))


def _recorded(access: Access, place: Position, wanted: Wanted) -> list[bytes]:
    """Return one page of the stream, and the place after it."""
    page = read_events(access, place, wanted)
    return [*map(_message, page.events), _place(page.place)]


async def _followed(
    access: Access, place: Position, wanted: Wanted, allowed: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    checked_at = said_at = time.monotonic()
    yield _place(place)
    pages = follow_events(lambda: access, place, wanted)
    async with contextlib.aclosing(pages):
        async for page in pages:
            if time.monotonic() - checked_at > CHECK_SECONDS:
                checked_at = time.monotonic()
                if not await allowed():
                    return
            for event in page.events:
                yield _message(event)
            if page.events or time.monotonic() - said_at > BEAT_SECONDS:
                said_at = time.monotonic()
                yield _place(page.place)


def _message(event: EventOut) -> bytes:
    # JSON escapes line breaks.
    return f"id: {event.id}\nevent: {event.type}\ndata: {event.model_dump_json()}\n\n".encode()


def _place(place: Position) -> bytes:
    """Return an id without an event: EventSource takes it over, and keeps the connection."""
    return f"id: {place}\n\n".encode()
