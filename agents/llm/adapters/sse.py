"""Splitting of a byte stream into server-sent events; only an event's data is decoded.

See https://html.spec.whatwg.org/multipage/server-sent-events.html for the format; a model's stream
uses the fields ``data`` and ``event``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event.

    Attributes:
        event: Name of the event; often empty.
    """

    event: str
    data: str


class EventSplitter:
    """Splitter of a byte stream that arrives in pieces cut anywhere.

    Each byte is scanned once, however small the pieces are.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of an unfinished line
        self._after_return = False  # the last byte was "\r": a following "\n" belongs to it
        self._event = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[SentEvent]:
        """Parse the next bytes and yield the complete events."""
        for line in self._lines(chunk):
            if line:
                self._field(line)
            elif self._data:
                yield self._dispatch()
            else:
                self._event = b""  # ignore an event without data

    def _lines(self, chunk: bytes) -> list[bytes]:
        if not chunk:
            return []  # keep _after_return
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        lines = chunk.splitlines()  # of bytes: only at \n, \r and \r\n
        if not lines:
            return []
        whole = chunk.endswith((b"\n", b"\r"))
        if len(lines) == 1 and not whole:
            self._line.append(chunk)
            return []
        if self._line:
            lines[0] = b"".join((*self._line, lines[0]))
        self._line = [] if whole else [lines.pop()]
        return lines

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif name == b"event":
            self._event = value.removeprefix(b" ")

    def _dispatch(self) -> SentEvent:
        data, event = b"\n".join(self._data), self._event
        self._data, self._event = [], b""
        return SentEvent(event.decode("utf-8", "replace"), data.decode("utf-8", "replace"))
