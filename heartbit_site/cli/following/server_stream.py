"""Follow a remote run by server-sent events, and show it as a local one is shown.

A connection that breaks is made again. The stream then begins again, and what was shown before is
not shown twice: an event is known by its run and its number. So nothing is missed or doubled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

from agents.live.updates import Update
from heartbit_site.cli.backend.server import ServerBackend, as_command_errors
from heartbit_site.cli.following.approval_watcher import ApprovalWatcher
from heartbit_site.cli.following.watch import Ending, watch_until_left
from heartbit_site.cli.views.display import watched
from heartbit_site.remote.server import Server
from heartbit_site.remote.stream import stream_updates


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
            with as_command_errors():
                async for update in stream_updates(self._server, root, follow=True):
                    yield update

        attendant = ApprovalWatcher(display, ServerBackend(self._server))
        return asyncio.run(watch_until_left(UUID(root), updates, display, attendant))


async def _recorded(server: Server, root: str) -> list[Update]:
    with as_command_errors():
        return [update async for update in stream_updates(server, root, follow=False)]
