"""A server that sends exactly the bytes a test gives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@dataclass
class RawServer:
    """What the server saw."""

    url: str = ""
    requests: list[bytes] = field(default_factory=list)
    request_seen: asyncio.Event = field(default_factory=asyncio.Event)
    client_gone: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def raw_server(script: Script | bytes) -> AsyncIterator[RawServer]:
    """Answer each connection's one request with ``script``'s bytes, then close."""
    seen = RawServer()
    handlers: list[asyncio.Task[None] | None] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handlers.append(asyncio.current_task())
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        seen.requests.append(await reader.readexactly(length))
        seen.request_seen.set()
        if isinstance(script, bytes):
            writer.write(script)
        else:
            await script(reader, writer)
        with suppress(ConnectionError):
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    seen.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield seen
    # Python 3.11 does not wait for these by itself.
    await asyncio.gather(*filter(None, handlers))


def hang_after(sent: bytes, seen: Callable[[], RawServer]) -> Script:
    """Send ``sent`` and nothing more; note when the client goes away."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        with suppress(ConnectionError):
            await reader.read()
        seen().client_gone.set()

    return script
