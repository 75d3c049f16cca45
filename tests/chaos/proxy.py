"""A network that can be broken: a TCP proxy in front of a database, a broker or a model server.

with Proxy("127.0.0.1", 6379) as proxy:
    client = Redis(port=proxy.port)
    with proxy.fault(Fault.BLACKHOLE):
        ...
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import socket
import struct
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PIECE_BYTES = 64 * 1024
#: Closing sends a reset instead of the end.
_RESETS = struct.pack("ii", 1, 0)


class Fault(enum.Enum):
    """What is wrong with the network."""

    NONE = "nothing"
    LATENCY = "each piece takes longer"
    DROP = "connections are closed, new ones at once"
    RESET = "the same, with a reset"
    HALF_OPEN = "what the server answers is lost for ever, and nobody is told"
    BLACKHOLE = "nothing gets through either way, but arrives later"


@dataclass(eq=False, slots=True)
class _Link:
    """A client's connection and ours to the server; ``torn``: it has lost bytes."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    torn: bool = False


class Proxy:
    """Forwards to one server, in a thread of its own, as well as its fault allows.

    Args:
        host: Of the server, or its unix socket.
        port: Of the server; without meaning for a unix socket.

    Attributes:
        port: Where the proxy listens, on 127.0.0.1.
    """

    port: int
    _changed: asyncio.Event

    def __init__(self, host: str | Path, port: int = 0) -> None:
        self._target = (host, port)
        self._fault = Fault.NONE
        self._latency = 0.0
        self._links: set[_Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy")

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(10)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    @contextlib.contextmanager
    def fault(self, fault: Fault, *, latency_ms: float = 0.0) -> Iterator[None]:
        """Break the network for the length of the block, also for connections that are open.

        Connections that lost bytes in it are reset at its end.
        """
        self._set(fault, latency_ms / 1000)
        try:
            yield
        finally:
            self._set(Fault.NONE, 0.0)

    def _set(self, fault: Fault, latency: float) -> None:
        def change() -> None:
            self._fault, self._latency = fault, latency
            for link in tuple(self._links):
                if fault in (Fault.DROP, Fault.RESET) or (link.torn and fault is Fault.NONE):
                    self._cut(link)
            self._changed.set()
            self._changed = asyncio.Event()

        self._call(change)

    def _call(self, function: Callable[[], None]) -> None:
        async def call() -> None:
            function()

        asyncio.run_coroutine_threadsafe(call(), self._loop).result(10)

    async def _open(self) -> None:
        self._changed = asyncio.Event()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._forward(reader, writer)
        except (OSError, asyncio.CancelledError):  # the server is away, or the test is over
            writer.transport.abort()
        finally:
            self._tasks.discard(task)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._fault in (Fault.DROP, Fault.RESET):
            self._end(writer)
            return
        host, port = self._target
        there = (
            await asyncio.open_connection(host, port)
            if isinstance(host, str)
            else await asyncio.open_unix_connection(host)
        )
        link = _Link(writer, there[1])
        self._links.add(link)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pump(link, reader, link.server, answers=False))
                group.create_task(self._pump(link, there[0], link.client, answers=True))
        except* OSError:
            pass  # one side is gone; so is the other now
        finally:
            self._links.discard(link)
            link.client.transport.abort()
            link.server.transport.abort()

    async def _pump(
        self,
        link: _Link,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        answers: bool,
    ) -> None:
        while piece := await reader.read(PIECE_BYTES):
            if self._latency:
                await asyncio.sleep(self._latency)
            while self._fault is Fault.BLACKHOLE:
                await self._changed.wait()
            if self._fault is Fault.HALF_OPEN and answers:
                link.torn = True
            if not (link.torn and answers):
                writer.write(piece)
                await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()

    def _cut(self, link: _Link) -> None:
        self._end(link.client, reset=link.torn)
        link.server.transport.abort()

    def _end(self, writer: asyncio.StreamWriter, *, reset: bool = False) -> None:
        if reset or self._fault is Fault.RESET:
            there: socket.socket = writer.get_extra_info("socket")
            there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESETS)
            writer.transport.abort()
        else:
            writer.close()
