"""The updates of a run tree by server-sent events. No Django.

A stream that is read again begins again: an event is known by its run and its number.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

import httpx
from httpx_sse import EventSource, SSEError

from agents.journal.events import Event, RecordedEvent
from agents.live.updates import DeltaUpdate, EventUpdate, RunUpdate, Update, readable
from agents.runs.live_entries import Delta
from heartbit_site.base.errors import HeartbitError
from heartbit_site.remote.client import (
    CONNECT_SECONDS,
    PREFIX,
    SILENCE_SECONDS,
    headers,
    refuse,
    unreachable,
)
from heartbit_site.remote.errors import StreamLostError

if TYPE_CHECKING:
    from heartbit_site.remote.server import Server

#: The updates that can be decoded; a newer server may send others.
TYPES: Final = frozenset({"run", "event", "delta"})


async def stream_updates(server: Server, root: str, *, follow: bool) -> AsyncIterator[Update]:
    """Yield the updates of a tree: what its journals hold, then what happens until its end.

    Args:
        server: The server.
        root: Id of the tree's root.
        follow: Go on until all runs have ended.

    Raises:
        StreamLostError: The connection broke, or the server is restarting.
        HeartbitError: The server refuses.
    """
    async for message in _stream(server, root, follow=follow):
        if message["type"] in TYPES:
            yield decoded(message)


async def _stream(server: Server, root: str, *, follow: bool) -> AsyncIterator[dict[str, Any]]:
    """Yield a server's messages about a tree.

    Raises:
        StreamLostError: The connection broke, or the server is restarting.
        HeartbitError: The server refuses.
    """
    query = {"tree": "true", "follow": "true" if follow else "false"}
    timeout = httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
    try:
        async with (
            httpx.AsyncClient(headers=headers(server), timeout=timeout) as client,
            client.stream(
                "GET", f"{server.url}{PREFIX}/runs/{root}/events", params=query
            ) as response,
        ):
            await _check(server, response)
            async for event in EventSource(response).aiter_sse():
                if event.event == "end":
                    return
                update = json.loads(event.data)
                yield update
    except (httpx.TransportError, SSEError) as error:
        raise StreamLostError(str(unreachable(server, error))) from error
    if follow:
        raise StreamLostError(f"The server {server.url} broke off the stream.")


async def _check(server: Server, response: httpx.Response) -> None:
    if response.is_success:
        return
    await response.aread()
    try:
        refuse(server, response)
    except HeartbitError as error:
        if response.status_code < 500:
            raise
        raise StreamLostError(str(error)) from error


def decoded(update: dict[str, Any]) -> Update:
    """Return an update of a server as one of ours."""
    run_id = UUID(update["run_id"])
    match update["type"]:
        case "run":
            parent = UUID(update["parent_id"]) if update["parent_id"] else None
            kind = update.get("kind", "agent")  # servers of before do not say it
            return RunUpdate(run_id, parent, kind, update["agent"], update["task"])
        case "event":
            event = cast("Event", readable(update["event"], update["payload"]))
            at = datetime.fromisoformat(update["at"])
            return EventUpdate(run_id, RecordedEvent(update["seq"], at, event))
        case _:
            delta = Delta(
                turn=update["turn"],
                attempt=update["attempt"],
                offset=update["offset"],
                text=update["text"],
                kind=update["kind"],
            )
            return DeltaUpdate(run_id, delta)
