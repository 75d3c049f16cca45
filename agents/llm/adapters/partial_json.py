"""Incremental parsing of ``{"tool": ..., "args": ...}``."""

from __future__ import annotations

import re
from typing import Literal

from agents.llm.text import TextCleaner

_HEAD = re.compile(r'\s*\{\s*"tool"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,\s*"args"\s*:\s*')
_TEXT_HEAD = re.compile(r'\{\s*"text"\s*:\s*"')
_HEAD_CHARACTERS = 10_000  # the search for a head stops after this
_ESCAPES = {
    '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_SPECIAL = re.compile(r'["\\]')


class JsonString:
    """Decoder of the inside of a JSON string that arrives in pieces."""

    def __init__(self) -> None:
        self.closed = False
        self._rest = ""
        self._cleaner = TextCleaner()

    def feed(self, raw: str) -> str:
        """Decode a piece and return its text; nothing after the closing quote."""
        self._rest += raw
        decoded: list[str] = []
        while not self.closed and (special := _SPECIAL.search(self._rest)):
            decoded.append(self._rest[: special.start()])
            self._rest = self._rest[special.start() :]
            if special[0] == '"':
                self.closed = True
                break
            escaped = self._escape()
            if escaped is None:
                return self._cleaner.feed("".join(decoded))  # half an escape: wait for the rest
            decoded.append(escaped)
        if not self.closed:
            decoded.append(self._rest)
        self._rest = ""
        return self._cleaner.feed("".join(decoded))

    def _escape(self) -> str | None:
        letter = self._rest[1:2]
        length = 6 if letter == "u" else 2
        if len(self._rest) < length:
            return None
        sequence, self._rest = self._rest[:length], self._rest[length:]
        if letter != "u":
            return _ESCAPES.get(letter, letter)
        try:
            return chr(int(sequence[2:], 16))
        except ValueError:
            return "\ufffd"


class PartialCall:
    """Parser of a growing reply: first its head with the tool's name, then a call or an answer.

    Attributes:
        kind: ``unknown`` until the head is complete, then ``call`` or ``answer``.
        text: Answer decoded so far.
    """

    def __init__(self, answer: str) -> None:
        """Take the name of the branch whose text is shown while it arrives."""
        self.kind: Literal["unknown", "call", "answer"] = "unknown"
        self.name = ""
        self.text = ""
        self._answer = answer
        self._raw = ""
        self._start = 0
        self._shown = 0
        self._string = JsonString()

    def feed(self, piece: str) -> str:
        """Parse a piece; return new text of an answer, or new raw arguments of a call."""
        self._raw += piece
        if self.kind == "unknown" and len(self._raw) - len(piece) < _HEAD_CHARACTERS:
            piece = self._read_head()
        if self.kind == "answer":
            text = self._string.feed(piece)
            self.text += text
            return text
        return self._new_arguments()

    def _read_head(self) -> str:
        """Parse the head; return the text after it."""
        head = _HEAD.match(self._raw)
        if head is None:
            return ""
        end = head.end()
        if head[1] == self._answer:
            text = _TEXT_HEAD.match(self._raw, end)
            if text is None:
                return ""
            self.kind, end = "answer", text.end()
        else:
            self.kind = "call"
        self.name = head[1]
        self._start = self._shown = end
        return self._raw[end:]

    def _new_arguments(self) -> str:
        if self.kind != "call":
            return ""
        # Trailing blanks and braces may belong to the call around the arguments. No regular
        # expression, because its time would be quadratic.
        end = len(self._raw)
        while end > self._shown and (self._raw[end - 1] == "}" or self._raw[end - 1].isspace()):
            end -= 1
        new, self._shown = self._raw[self._shown : end], end
        return new

    def arguments(self, *, complete: bool) -> str:
        """Return a call's raw arguments; ``complete`` if the reply is complete JSON."""
        raw = self._raw[self._start :].rstrip()
        return raw.removesuffix("}").rstrip() if complete else raw

    def rest_of(self, arguments: str) -> str:
        """Return the end of ``arguments`` that ``feed`` has not returned."""
        return arguments[self._shown - self._start :]
