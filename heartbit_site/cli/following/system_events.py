"""A workspace's system events, of a server or of this installation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from agents.system_events.types import EventOut
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.cli.backend.protocol import Backend
from heartbit_site.cli.backend.server import ServerBackend, as_command_errors
from heartbit_site.cli.terminal.errors import LostError, UsageError
from heartbit_site.remote.errors import StreamLostError
from heartbit_site.remote.server import Server

if TYPE_CHECKING:
    from heartbit_site.cli.backend.local import LocalBackend

AGAIN_SECONDS: Final = 2.0


def listen(backend: Backend, query: dict[str, Any], *, follow: bool) -> Iterator[EventOut]:
    """Yield the events that a query of ``GET /events`` selects.

    A server that was reached, and then breaks off, is asked again for the rest.

    Args:
        backend: Where.
        query: The parameters, without empty ones.
        follow: Wait for further events.

    Raises:
        LostError: The server cannot be reached.
    """
    if not isinstance(backend, ServerBackend):
        local: Any = backend
        yield from _recorded(local, query, follow=follow)
        return
    place: list[str] = []
    is_over = False
    while not is_over:
        is_over = not follow
        try:
            with as_command_errors():
                for event in _streamed(backend.server, query, place, follow=follow):
                    is_over = False  # an answer is a page
                    yield event
        except LostError:
            if not (follow and place):
                raise
            time.sleep(AGAIN_SECONDS)


def _streamed(
    server: Server, query: dict[str, Any], place: list[str], *, follow: bool
) -> Iterator[EventOut]:
    """Yield a server's events; ``place`` gets the last id, where the next call continues."""
    import httpx  # noqa: PLC0415  slow
    from httpx_sse import EventSource, SSEError  # noqa: PLC0415

    from heartbit_site.remote import client  # noqa: PLC0415

    wanted = {name: value for name, value in query.items() if value}
    known = {"Last-Event-ID": place[0]} if place else {}
    timeout = httpx.Timeout(client.SILENCE_SECONDS, connect=client.CONNECT_SECONDS)
    url = f"{server.url}{client.PREFIX}/events"
    try:
        with (
            httpx.Client(headers=client.headers(server) | known, timeout=timeout) as http,
            http.stream("GET", url, params=wanted | {"follow": follow}) as response,
        ):
            if not response.is_success:
                response.read()
                client.refuse(server, response)
            for event in EventSource(response).iter_sse():
                place[:] = [event.id]
                if event.data:
                    yield EventOut.model_validate_json(event.data)
    except (httpx.TransportError, SSEError) as error:
        raise StreamLostError(str(client.unreachable(server, error))) from error
    if follow:
        raise StreamLostError(f"The server {server.url} broke off the stream.")


def _recorded(backend: LocalBackend, query: dict[str, Any], *, follow: bool) -> Iterator[EventOut]:
    from agents.system_events import reader  # noqa: PLC0415  needs Django set up

    begins = datetime.fromisoformat(query["since"]) if "since" in query else datetime.now(UTC)
    place = reader.Position(0, begins)
    try:
        wanted = reader.Wanted.of(query["type"], query["agent"])
        if query["after"]:
            place = reader.Position.parse(query["after"])
    except ConfigurationError as error:
        raise UsageError(str(error)) from None
    while True:
        page = reader.read_events(backend.access, place, wanted)
        yield from page.events
        place = page.place
        if page.has_more:
            continue
        if not follow:
            return
        time.sleep(reader.LOOK_SECONDS)
