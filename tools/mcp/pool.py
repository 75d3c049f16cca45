"""Connections to MCP servers, kept by a process and shared by its runs.

The SDK is imported with the first connection (measured: one second and 26 MB), so a process that
calls no server does not load it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from heartbit_site.base import orm
from heartbit_site.base.http.allow import AllowRule
from heartbit_site.base.pictures import WithPictures
from heartbit_site.base.suspensions import Question, QuestionReply
from tools.mcp import errors
from tools.mcp.endpoints import McpEndpoint, PinnedTool
from tools.mcp.guarded_client import guarded_mcp_client
from tools.models import McpServer

if TYPE_CHECKING:
    from tools.mcp.connection import McpConnection
    from tools.mcp.listing import Offer

FAILURES: Final = 5
PAUSE_SECONDS: Final = 30.0


class ServerBreaker:
    """Circuit breaker of a failing server; after the pause, a single call probes it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[int, int] = {}
        self._until: dict[int, float] = {}

    def admit(self, server_id: int, name: str) -> None:
        """Admit a call.

        Raises:
            McpError: The server is paused.
        """
        left = self._until.get(server_id, 0.0) - self._clock()
        if left > 0:
            raise errors.McpError(
                f"The MCP server {name} failed {FAILURES} times in a row: the next call is "
                f"allowed in {left:.0f} s."
            )

    def failed(self, server_id: int) -> None:
        """Count a failure."""
        self._failures[server_id] = self._failures.get(server_id, 0) + 1
        if self._failures[server_id] >= FAILURES:
            self._until[server_id] = self._clock() + PAUSE_SECONDS

    def succeeded(self, server_id: int) -> None:
        """Reset the failures of a server that answered."""
        self._failures.pop(server_id, None)
        self._until.pop(server_id, None)


T = TypeVar("T")

MAX_CONNECTIONS: Final = 64
IDLE_SECONDS: Final = 300.0
#: Time limit for reading everything that a server offers; no call waits for this.
READ_SECONDS: Final = 120.0


@dataclass
class _Kept:
    opening: asyncio.Task[McpConnection]
    used_at: float = field(default_factory=time.monotonic)
    calls: int = 0
    timer: asyncio.TimerHandle | None = None


class McpPool:
    """Connections by endpoint: one for each server and credential, opened with the first call.

    Attributes:
        http: The guarded client of all of them.
    """

    def __init__(
        self, *, allow: Iterable[AllowRule] = (), idle_seconds: float = IDLE_SECONDS
    ) -> None:
        """Create a pool without connections.

        Args:
            allow: Exceptions beyond the public internet, as for ``GuardedClient``.
            idle_seconds: Time after which an unused connection is closed.
        """
        self._idle_seconds = idle_seconds
        self.http = guarded_mcp_client(allow=allow)
        self._breaker = ServerBreaker()
        self._kept: dict[McpEndpoint, _Kept] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def call(
        self,
        endpoint: McpEndpoint,
        tool: PinnedTool,
        arguments: dict[str, Any],
        *,
        key: str,
        seconds: float,
        reply: QuestionReply | None = None,
    ) -> str | WithPictures | Question:
        """Call a tool of a server and return its result as text, or its question to a person.

        The call uses a kept connection. It is repeated over a new one if the server has certainly
        not received it, or if the kept one does not know the tool as pinned.

        Raises:
            McpError: The server cannot be used, or the tool failed; the sentence is for the model.
        """
        self._breaker.admit(endpoint.id, endpoint.name)
        until = time.monotonic() + seconds
        try:
            text = await self._use(
                endpoint,
                lambda connection: connection.call(
                    tool, arguments, key=key, seconds=until - time.monotonic(), reply=reply
                ),
            )
        except errors.McpConnectionError:
            self._breaker.failed(endpoint.id)
            raise
        except errors.McpError:
            self._breaker.succeeded(endpoint.id)  # the server answers, if only with an error
            raise
        self._breaker.succeeded(endpoint.id)
        return text

    async def connect(self, endpoint: McpEndpoint, tool: PinnedTool, *, seconds: float) -> None:
        """Open the connection for the call that follows, and check that the server offers its tool.

        Raises:
            McpError: The server cannot be used for the call.
        """
        self._breaker.admit(endpoint.id, endpoint.name)
        until = time.monotonic() + seconds
        try:
            await self._use(
                endpoint,
                lambda connection: connection.check(tool, seconds=until - time.monotonic()),
            )
        except errors.McpConnectionError:
            self._breaker.failed(endpoint.id)
            raise

    async def read(
        self, endpoint: McpEndpoint, say: Callable[[str], None]
    ) -> tuple[Offer, dict[str, str]]:
        """Return a server's current tools, and its facts about itself.

        Args:
            endpoint: How the server is reached.
            say: Receives sentences about the progress, for people.

        Raises:
            McpError: The server cannot be read.
        """
        connection = await self._open(endpoint, say)
        try:
            return connection.offer, connection.facts
        finally:
            await connection.close()

    async def aclose(self) -> None:
        """Close every connection."""
        for endpoint in list(self._kept):
            self._drop(endpoint)
        if self._closing:
            await asyncio.wait(self._closing)
        await self.http.aclose()

    async def _use(self, endpoint: McpEndpoint, use: Callable[[McpConnection], Awaitable[T]]) -> T:
        """Use a kept connection, or a new one if the kept one has ended or its offer is outdated.

        A server's process keeps the offer it started with, even if people have accepted changes
        since.
        """
        kept = self._kept.get(endpoint)
        try:
            async with self._lent(endpoint) as connection:
                return await use(connection)
        except errors.SessionEndedError:
            pass
        except errors.DifferentOfferError:
            if kept is None:
                await orm.run_in_thread(partial(_mark, endpoint.id))
                raise
            self._retire(endpoint, kept)
        try:
            async with self._lent(endpoint) as connection:
                return await use(connection)
        except errors.DifferentOfferError:
            await orm.run_in_thread(partial(_mark, endpoint.id))
            raise

    @asynccontextmanager
    async def _lent(self, endpoint: McpEndpoint) -> AsyncIterator[McpConnection]:
        """Open a server's connection or use the kept one, and keep it open during the block."""
        kept = self._connection(endpoint)
        kept.calls += 1
        try:
            yield await asyncio.shield(kept.opening)
        finally:
            kept.calls -= 1
            kept.used_at = time.monotonic()
            if self._kept.get(endpoint) is not kept:
                self._close_unused(kept)
            elif kept.opening.done() and not _is_open(kept):
                self._drop(endpoint, kept)
            elif not kept.calls:
                self._drop_when_idle(endpoint, kept)

    def _connection(self, endpoint: McpEndpoint) -> _Kept:
        kept = self._kept.get(endpoint)
        if kept is not None and not _is_usable(kept):
            self._drop(endpoint, kept)
            kept = None
        if kept is None:
            self._make_room()
            kept = _Kept(asyncio.create_task(self._open(endpoint)))
            kept.opening.add_done_callback(_retrieved)
            self._kept[endpoint] = kept
        return kept

    async def _open(
        self, endpoint: McpEndpoint, say: Callable[[str], None] | None = None
    ) -> McpConnection:
        """Open a connection; one that reports progress may take longer."""
        loop = asyncio.get_running_loop()
        marking: asyncio.Task[None] | None = None

        def changed() -> None:
            nonlocal marking
            if marking is not None and not marking.done():
                return  # a server may repeat it hundreds of times
            marking = loop.create_task(orm.run_in_thread(partial(_mark, endpoint.id)))
            self._closing.add(marking)
            marking.add_done_callback(self._closing.discard)

        module = await asyncio.to_thread(import_module, "tools.mcp.connection")
        connection: McpConnection
        if say is None:
            connection = module.McpConnection(endpoint, self.http, changed)
            await connection.open()
        else:
            connection = module.McpConnection(endpoint, self.http, changed, say)
            await connection.open(READ_SECONDS)
        return connection

    def _make_room(self) -> None:
        """Close the connection that was idle for longest, if the limit is reached."""
        idle = [each for each in self._kept.items() if not each[1].calls]
        if len(self._kept) >= MAX_CONNECTIONS and idle:
            self._drop(*min(idle, key=lambda each: each[1].used_at))

    def _drop_when_idle(self, endpoint: McpEndpoint, kept: _Kept) -> None:
        if kept.timer is not None:
            kept.timer.cancel()
        kept.timer = asyncio.get_running_loop().call_later(
            self._idle_seconds, self._drop_idle, endpoint, kept
        )

    def _drop_idle(self, endpoint: McpEndpoint, kept: _Kept) -> None:
        if not kept.calls:
            self._drop(endpoint, kept)

    def _retire(self, endpoint: McpEndpoint, kept: _Kept) -> None:
        """Remove a connection from the pool; calls in flight finish on it."""
        if self._kept.get(endpoint) is kept:
            del self._kept[endpoint]
            self._close_unused(kept)

    def _drop(self, endpoint: McpEndpoint, kept: _Kept | None = None) -> None:
        if kept is None or self._kept.get(endpoint) is kept:
            self._close(self._kept.pop(endpoint))

    def _close_unused(self, kept: _Kept) -> None:
        if not kept.calls:
            self._close(kept)

    def _close(self, kept: _Kept) -> None:
        task = asyncio.create_task(_close(kept))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


def _is_usable(kept: _Kept) -> bool:
    return not kept.opening.done() or _is_open(kept)


def _is_open(kept: _Kept) -> bool:
    opening = kept.opening
    if not opening.done() or opening.cancelled() or opening.exception() is not None:
        return False
    return opening.result().is_open


def _retrieved(opening: asyncio.Task[McpConnection]) -> None:
    if not opening.cancelled():
        opening.exception()


async def _close(kept: _Kept) -> None:
    kept.opening.cancel()
    await asyncio.wait({kept.opening})
    if not kept.opening.cancelled() and kept.opening.exception() is None:
        await kept.opening.result().close()


def _mark(server_id: int) -> None:
    McpServer.objects.filter(pk=server_id, needs_refresh=False).update(needs_refresh=True)
