"""Follow a remote run by server-sent events, and show it as a local one is shown.

A connection that breaks is made again. The stream then begins again, and what was shown before is
not shown twice: an event is known by its run and its number. So nothing is missed or doubled.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import httpx
from httpx_sse import EventSource, SSEError

from heartbit_site.base import aio
from heartbit_site.cli.approval_watcher import ApprovalWatcher
from heartbit_site.cli.backend import ServerBackend
from heartbit_site.cli.display import Display, progress
from heartbit_site.cli.errors import CANNOT_START, CommandError
from heartbit_site.cli.invocation import as_json
from heartbit_site.cli.remote_client import (
    CONNECT_SECONDS,
    PREFIX,
    SILENCE_SECONDS,
    headers,
    refuse,
    unreachable,
)
from heartbit_site.cli.remote_updates import JsonPrinter, decoded

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from agents.live.updates import Update
    from heartbit_site.cli.remote import Server
    from heartbit_site.cli.run_streams import Ending

    #: Shows an update as a server sends it.
    Show = Callable[[dict[str, Any]], None]

TICK_SECONDS: Final = 0.1
RETRY_SECONDS: Final = 0.5
PATIENCE: Final = 30.0  # a server that restarts is back within seconds


class LostError(Exception):
    """The stream broke off before the run's end."""

    def __init__(self, error: CommandError) -> None:
        super().__init__(str(error))
        self.error = error


class ServerStream:
    """See ``run_streams.Stream``."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def recorded(self, root: str) -> list[Update]:
        """Return what the journals of a tree hold by now."""
        return asyncio.run(_recorded(self._server, root))

    def watch(self, root: str, *, plain: bool, leaves: bool) -> Ending:
        """Show a tree until all of its runs have ended; what waits for a person is asked."""
        display = Display() if as_json() else progress(plain_lines=plain)
        print_json = JsonPrinter().print

        def show(update: dict[str, Any]) -> None:
            if as_json():
                print_json(update)
            else:
                display.update(decoded(update))

        attendant = ApprovalWatcher(display, ServerBackend(self._server))
        with display:
            return asyncio.run(_watch(self._server, root, display, show, attendant))


async def _recorded(server: Server, root: str) -> list[Update]:
    try:
        updates = _stream(server, root, follow=False)
        return [decoded(update) async for update in updates]
    except LostError as error:
        raise error.error from None


async def _watch(
    server: Server, root: str, display: Display, show: Show, attendant: ApprovalWatcher
) -> Ending:
    following = asyncio.create_task(_follow(server, root, show, attendant))
    tasks = [
        following,
        asyncio.create_task(_tick(display)),
        asyncio.create_task(attendant.attend(UUID(root))),
    ]
    with _first_interrupt(following.cancel, attendant):
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await aio.cancel_and_wait(*tasks)
    if following in done and following.cancelled():
        return "left"
    for task in done:
        task.result()
    return "ended"


async def _tick(display: Display) -> None:
    while True:
        display.tick()
        await asyncio.sleep(TICK_SECONDS)


@contextlib.contextmanager
def _first_interrupt(leave: Callable[[], Any], attendant: ApprovalWatcher) -> Iterator[None]:
    """Within it the first Ctrl-C calls `leave`; a second one ends the process as usual.

    While the person's editor has the terminal, Ctrl-C is the editor's.
    """
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def interrupted(received: signal.Signals) -> None:
        if received == signal.SIGINT and attendant.is_deaf:
            return
        for number in numbers:
            loop.remove_signal_handler(number)
        leave()

    for number in numbers:
        loop.add_signal_handler(number, interrupted, number)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


async def _follow(server: Server, root: str, show: Show, attendant: ApprovalWatcher) -> None:
    """Read to the end, over as many connections as it takes."""
    loop = asyncio.get_running_loop()
    lost_at: float | None = None
    while True:
        try:
            async for update in _stream(server, root, follow=True):
                lost_at = None
                show(update)
                attendant.hear(update.get("event", ""))
        except LostError as error:
            lost_at = loop.time() if lost_at is None else lost_at
            if loop.time() - lost_at > PATIENCE:
                raise error.error from None
            await asyncio.sleep(RETRY_SECONDS)
        else:
            await attendant.finish()
            return


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
        raise LostError(unreachable(server, error)) from error
    if follow:
        cut = CommandError(f"The server {server.url} broke off the stream.", CANNOT_START)
        raise LostError(cut)


async def _check(server: Server, response: httpx.Response) -> None:
    if response.is_success:
        return
    await response.aread()
    if response.status_code < 500:
        refuse(server, response)
    try:
        refuse(server, response)
    except CommandError as error:
        raise LostError(error) from error
