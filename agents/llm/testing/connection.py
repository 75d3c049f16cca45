"""Minimal HTTP/1.1 server side for model clients: POST with a length, keep-alive.

Without a framework, so that requests are cheap and do not distort benchmarks.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import closing, suppress
from dataclasses import dataclass

_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 411: "Length Required"}
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """A complete request; names in ``headers`` are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Handler = Callable[[Request, asyncio.StreamWriter], Coroutine[None, None, None]]


async def serve_client(
    handler: Handler, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer one client's requests in order; cancel an answer if the client disconnects."""
    with closing(writer), suppress(asyncio.IncompleteReadError, ConnectionError):
        while not writer.is_closing():
            request = await _next_request(reader)
            if "transfer-encoding" in request.headers:
                send_json(writer, {"error": {"message": "send a content-length"}}, status=411)
                continue
            answer = asyncio.ensure_future(handler(request, writer))
            gone = asyncio.ensure_future(reader.read(1))  # clients await an answer before the next
            try:
                await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
            finally:
                gone.cancel()
                answer.cancel()
                await asyncio.gather(answer, gone, return_exceptions=True)
            if not answer.cancelled():
                answer.result()  # a defect of the handler closes the connection


async def _next_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    start_line, *lines = head.rstrip("\r\n").split("\r\n")
    fields = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _ = f"{start_line}  ".split(" ", 2)
    return Request(method, path, headers, body)


def send_json(
    writer: asyncio.StreamWriter, value: object, *, status: int = 200, headers: str = ""
) -> None:
    """Answer with a JSON body."""
    send_body(writer, json.dumps(value).encode(), status=status, headers=headers)


def send_body(
    writer: asyncio.StreamWriter,
    body: bytes,
    *,
    status: int = 200,
    headers: str = "",
    kind: str = "application/json",
) -> None:
    """Answer with a body of known length."""
    head = (
        f"HTTP/1.1 {status} {_REASONS.get(status, 'Scripted')}\r\ncontent-type: {kind}\r\n"
        f"content-length: {len(body)}\r\n{headers}\r\n"
    )
    writer.write(head.encode() + body)


def as_chunk(data: bytes) -> bytes:
    """Return ``data`` as one chunk of a chunked transfer."""
    return b"%x\r\n%b\r\n" % (len(data), data)
