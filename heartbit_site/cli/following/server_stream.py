"""Follow a remote run by server-sent events, and show it as a local one is shown.

A connection that breaks is made again. The stream then begins again, and what was shown before is
not shown twice: an event is known by its run and its number. So nothing is missed or doubled.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, cast
from uuid import UUID

import httpx
from httpx_sse import EventSource, SSEError

from agents.journal.events import Event, RecordedEvent
from agents.live.updates import DeltaUpdate, EventUpdate, RunUpdate, Update, readable
from agents.runs.live_entries import Delta
from heartbit_site.cli.backend.client import (
    CONNECT_SECONDS,
    PREFIX,
    SILENCE_SECONDS,
    headers,
    refuse,
    unreachable,
)
from heartbit_site.cli.backend.server import Server, ServerBackend
from heartbit_site.cli.following.approval_watcher import ApprovalWatcher
from heartbit_site.cli.following.watch import Ending, watch_until_left
from heartbit_site.cli.terminal.errors import CANNOT_START, CommandError, LostError
from heartbit_site.cli.views.display import watched

#: The updates that can be decoded; a newer server may send others.
TYPES: Final = frozenset({"run", "event", "delta"})


class ServerStream:
    """The updates of a server's runs."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def recorded(self, root: str) -> list[Update]:
        """Return what the journals of a tree hold by now."""
        return asyncio.run(_recorded(self._server, root))

    def watch(self, root: str, *, plain: bool, leaves: bool) -> Ending:
        """Show a tree until all of its runs have ended; what waits for a person is asked."""
        display = watched(plain_lines=plain)

        async def updates() -> AsyncIterator[Update]:
            async for update in _stream(self._server, root, follow=True):
                if update["type"] in TYPES:
                    yield decoded(update)

        attendant = ApprovalWatcher(display, ServerBackend(self._server))
        return asyncio.run(watch_until_left(UUID(root), updates, display, attendant))


async def _recorded(server: Server, root: str) -> list[Update]:
    return [decoded(update) async for update in _stream(server, root, follow=False)]


async def _stream(server: Server, root: str, *, follow: bool) -> AsyncIterator[dict[str, Any]]:
    """Yield a server's messages about a tree.

    Raises:
        LostError: The connection broke, or the server is restarting.
        CommandError: The server refuses.
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
        raise LostError(str(unreachable(server, error)), CANNOT_START) from error
    if follow:
        raise LostError(f"The server {server.url} broke off the stream.", CANNOT_START)


async def _check(server: Server, response: httpx.Response) -> None:
    if response.is_success:
        return
    await response.aread()
    try:
        refuse(server, response)
    except CommandError as error:
        if response.status_code < 500:
            raise
        raise LostError(str(error), error.code) from error


@dataclass(frozen=True, slots=True)
class RunNamed:
    """Summary of a run for a display that first sees it."""

    pk: UUID
    parent_id: UUID | None
    kind: str
    agent: str
    task: str


def decoded(update: dict[str, Any]) -> Update:
    """Return an update of a server as one of ours."""
    run_id = UUID(update["run_id"])
    match update["type"]:
        case "run":
            parent = UUID(update["parent_id"]) if update["parent_id"] else None
            kind = update.get("kind", "agent")  # servers of before do not say it
            return RunUpdate(RunNamed(run_id, parent, kind, update["agent"], update["task"]))
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
