"""Minimal HTTP/1.1 server side for model clients: POST with a length, keep-alive.

No framework: a request costs the wire server a tenth of a millisecond, so that it does not distort
benchmarks.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agents.llm.testing.directives import CLOCK

_CLOCK = CLOCK.encode()
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 411: "Length Required"}


@dataclass(frozen=True, slots=True)
class Request:
    """A complete request."""

    method: str
    path: str
    headers: bytes
    body: bytes


Handler = Callable[["Connection", Request], None]


class Connection(asyncio.Protocol):
    """One client; requests are answered one after the other."""

    def __init__(self, handler: Handler) -> None:
        """Take the handler, which answers each request with the methods below, now or later."""
        self._handler = handler
        self._buffer = bytearray()
        self._busy = False
        self._transport: asyncio.Transport | None = None
        self._timers: list[asyncio.TimerHandle] = []
        self.on_lost: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """Cancel the answer in flight; the client has gone."""
        self._transport = None
        self._cancel_timers()
        if self.on_lost:
            self.on_lost()

    def data_received(self, data: bytes) -> None:
        """Collect the bytes of requests."""
        self._buffer += data
        self._next_request()

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        """Call ``do`` after ``seconds``, at once if 0, never if the client has gone."""
        if self._transport is None:
            return
        if seconds <= 0:
            do()
        else:
            loop = asyncio.get_running_loop()
            self._timers.append(loop.call_later(seconds, do))

    def send_json(self, value: object, *, status: int = 200, headers: str = "") -> None:
        """Answer with a JSON body."""
        self.send_body(json.dumps(value).encode(), status=status, headers=headers)

    def send_body(
        self, body: bytes, *, status: int = 200, headers: str = "", kind: str = "application/json"
    ) -> None:
        """Answer with a body of known length and take the next request."""
        head = (
            f"HTTP/1.1 {status} {_REASONS.get(status, 'Scripted')}\r\ncontent-type: {kind}\r\n"
            f"content-length: {len(body)}\r\n{headers}\r\n"
        )
        self.write(head.encode() + body)
        self.finished()

    def send_events(
        self, events: Sequence[bytes], *, gap_seconds: float, then: Callable[[], None]
    ) -> None:
        """Answer with a stream of events, evenly spaced, and call ``then`` after the last."""
        self.write(STREAM_HEAD)
        if gap_seconds <= 0:
            self.write(as_chunk(b"".join(events)) + LAST_CHUNK)
            then()
            self.finished()
            return
        rest = iter(events)

        def send_next() -> None:
            event = next(rest, None)
            if event is not None:
                self.write(as_chunk(event.replace(_CLOCK, b"%.4f;" % time.time())))
                self.later(gap_seconds, send_next)
                return
            self.write(LAST_CHUNK)
            then()
            self.finished()

        send_next()

    def write(self, data: bytes) -> None:
        """Send bytes; do nothing if the client has gone."""
        if self._transport is not None:
            self._transport.write(data)

    def close(self) -> None:
        """Send the pending bytes and close."""
        if self._transport is not None:
            self._transport.close()

    def finished(self) -> None:
        """Mark the answer as complete."""
        self._busy = False
        self._cancel_timers()
        self.on_lost = None
        self._next_request()

    def _cancel_timers(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _next_request(self) -> None:
        if self._busy:
            return
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end])
        start_line, _, fields = head.partition(b"\r\n")
        fields = fields.lower()
        length = _content_length(fields)
        if len(self._buffer) < end + 4 + length:
            return
        body = bytes(self._buffer[end + 4 : end + 4 + length])
        del self._buffer[: end + 4 + length]
        method, path, _ = (start_line.decode("latin-1") + "  ").split(" ", 2)
        self._busy = True
        if b"transfer-encoding:" in fields:
            self.send_json({"error": {"message": "send a content-length"}}, status=411)
            return
        self._handler(self, Request(method, path, fields, body))


def _content_length(fields: bytes) -> int:
    marker = fields.find(b"content-length:")
    if marker < 0:
        return 0
    return int(fields[marker + 15 :].partition(b"\r\n")[0])


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


def as_chunk(data: bytes) -> bytes:
    """Return ``data`` as one chunk of a chunked transfer."""
    return b"%x\r\n%b\r\n" % (len(data), data)
