"""Split an event stream into events, over bytes: only an event's data is ever decoded.

The format is that of https://html.spec.whatwg.org/multipage/server-sent-events.html; of its fields
a model's stream uses ``data`` and ``event``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class SentEvent:
    """One event.

    Attributes:
        event: Its name; often empty.
        data: Its lines of data, joined.
    """

    event: str
    data: str


class EventSplitter:
    """Takes a stream's bytes as they come, cut anywhere; gives the events that are complete.

    Each byte is looked at once, however small the pieces it arrives in are.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of a line whose end has not come
        self._after_return = False  # the last byte was "\r": a "\n" now belongs to it
        self._event = b""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[SentEvent]:
        """Take the next bytes."""
        for line in self._lines(chunk):
            if line:
                self._field(line)
            elif self._data:
                yield self._dispatch()
            else:
                self._event = b""  # an event without data is none

    def _lines(self, chunk: bytes) -> list[bytes]:
        if not chunk:
            return []  # the byte before is still the last one
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        lines = chunk.splitlines()  # of bytes: at \n, \r and \r\n, and at nothing else
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
