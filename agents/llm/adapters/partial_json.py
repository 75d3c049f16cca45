"""Incremental parsing of ``{"tool": ..., "args": ...}``."""

from __future__ import annotations

import re
from typing import Literal

from agents.llm.text import TextCleaner

_HEAD = re.compile(r'\s*\{\s*"tool"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,\s*"args"\s*:\s*')
_TEXT_HEAD = re.compile(r'\{\s*"text"\s*:\s*"')
_HEAD_CHARACTERS = 10_000  # the search for a head stops after this
# Text and whole escapes; half an escape at the end waits for the rest.
_DECODABLE = re.compile(r'(?:[^"\\]|\\u.{4}|\\[^u])*+', re.DOTALL)
_ESCAPE = re.compile(r"\\(u.{4}|.)", re.DOTALL)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class JsonString:
    """Decoder of the inside of a JSON string that arrives in pieces."""

    def __init__(self) -> None:
        self.closed = False
        self._rest = ""
        self._cleaner = TextCleaner()

    def feed(self, raw: str) -> str:
        """Decode a piece and return its text; nothing after the closing quote."""
        if self.closed:
            return ""
        self._rest += raw
        decodable = _DECODABLE.match(self._rest)
        end = decodable.end() if decodable is not None else 0
        text, self._rest = self._rest[:end], self._rest[end:]
        self.closed = self._rest.startswith('"')
        return self._cleaner.feed(_ESCAPE.sub(_unescaped, text))


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) == 1:
        return _CONTROLS.get(code, code)
    try:
        return chr(int(code[1:], 16))
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
