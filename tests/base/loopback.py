"""A real HTTP server on 127.0.0.1 that counts what reaches it and answers as told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    import ssl

Answer = bytes | Callable[[asyncio.StreamWriter], Awaitable[None]]


def response(
    body: bytes = b"secret", *, status: str = "200 OK", headers: tuple[str, ...] = ()
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    return response(b"", status=status, headers=(f"Location: {location}",))


@dataclass
class Server:
    """``answers`` maps a path to what is sent; any other path gets a secret."""

    port: int = 0
    connections: int = 0
    requests: list[httpx.Request] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    server_names: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ", 2)
        fields = (line.partition(": ") for line in head[1:] if line)
        headers = httpx.Headers([(name, value) for name, _, value in fields])
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        url = f"http://{headers['host']}{path}"
        self.requests.append(httpx.Request(method, url, headers=headers, content=body))
        answer = self.answers.get(path, response())
        if isinstance(answer, bytes):
            writer.write(answer)
            await writer.drain()
            return True
        await answer(writer)
        return False


@asynccontextmanager
async def serving(*, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    server = Server()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    tasks = asyncio.all_tasks()
    try:
        yield server
    finally:
        listener.close()
        for task in asyncio.all_tasks() - tasks - {asyncio.current_task()}:
            task.cancel()
        await listener.wait_closed()
