r"""Positions of the keys of a TOML text: ``tomllib`` gives values only.

Usage::

    places = positions('[[agents]]\nname = "a"\n')
    places["agents", 0, "name"]     # (2, 1)
    places["agents", 0]             # (1, 3), the header's last key

The text must be TOML that ``tomllib`` has accepted: this module walks over it and checks nothing.
The position of a table is its first mention; the position of an array's element is the start of its
value.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass
from itertools import count
from typing import Final, TypeAlias

_MOST_QUOTES: Final = 2  # before the three quotes that close a multi-line string
#: Per opening quote: what may end the string, or an escape if it supports escapes.
_MARKS: Final = {
    '"': re.compile(r'\\.|["\n]'),
    "'": re.compile(r"['\n]"),
    3 * '"': re.compile(r'\\.|"""', re.DOTALL),
    3 * "'": re.compile("'''"),
}


def end_of_string(text: str, start: int) -> int | None:
    """Return the offset after the quoted string that begins at an offset.

    None if no string begins there, or if it is not closed, or not on its line.
    """
    quote = text[start : start + 1]
    opening = 3 * quote if text.startswith(3 * quote, start) else quote
    if opening not in _MARKS:
        return None
    for mark in _MARKS[opening].finditer(text, start + len(opening)):
        if mark[0] == opening:
            end = mark.end()
            more = 0 if opening == quote else _MOST_QUOTES
            return end + next(
                (n for n in range(more) if text[end + n : end + n + 1] != quote), more
            )
        if mark[0] == "\n":
            return None
    return None


Path: TypeAlias = tuple[str | int, ...]
Position: TypeAlias = tuple[int, int]

MAX_DEPTH: Final = 100  # dotted keys nest without recursion; walks over the values recurse

_BLANK: Final = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_COMMA: Final = re.compile(",?")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_NEWLINE: Final = re.compile(r"\n")
_SCALAR: Final = re.compile(r"[^,\]}#\n]+")


def positions(text: str) -> dict[Path, Position]:
    """Return line and column (both from 1, in characters) of every key path of a TOML text.

    Raises:
        RecursionError: Keys are nested deeper than ``MAX_DEPTH``.
    """
    return _Walk(text.replace("\r\n", "\n")).document()


def last_repeat(text: str, line: int, column: int) -> Repeat | None:
    """Return the last key before a position that repeats an earlier key, or None.

    Args:
        text: A text that ``tomllib`` accepts up to the position, and refuses there.
        line: Line of the position; like the column, from 1.
        column: Column in characters.
    """
    # The text after the position may not be TOML. A line break ends the last key.
    walk = _Walk(text[: offset_of(text, line, column)] + "\n")
    with contextlib.suppress(IndexError, RecursionError, ValueError):
        walk.document()
    return walk.repeat


def offset_of(text: str, line: int, column: int) -> int:
    """Return the number of characters of a text before a position."""
    return sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - 1


@dataclass(frozen=True, slots=True)
class Repeat:
    """A key that is written a second time.

    Attributes:
        path: The key, with its enclosing tables.
        is_table: True for a header, ``[a.b]``.
        place: Position of the repetition.
        first: Position of the first occurrence.
    """

    path: Path
    is_table: bool
    place: Position
    first: Position


class _Walk:
    """One pass over the text; ``_at`` is always the next character to read."""

    def __init__(self, text: str) -> None:
        self.repeat: Repeat | None = None
        self._text = text
        self._at = 0
        self._newlines = [match.start() for match in _NEWLINE.finditer(text)]
        self._found: dict[Path, Position] = {}
        self._elements: dict[Path, int] = {}  # arrays of tables: number of elements so far

    def document(self) -> dict[Path, Position]:
        table: Path = ()
        while self._skip(_BLANK) and self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._found

    def _header(self) -> Path:
        """Read `[a.b]` or `[[a.b]]`."""
        brackets = 2 if self._text.startswith("[[", self._at) else 1
        self._at += brackets
        path = self._path((), is_table=True, is_element=brackets == 2)
        self._at += brackets
        return path

    def _pair(self, table: Path) -> None:
        """Read `a.b = value`."""
        path = self._path(table)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _path(self, path: Path, *, is_table: bool = False, is_element: bool = False) -> Path:
        """Read a dotted key; a part that is an array of tables means its newest element."""
        keys = self._dotted()
        for number, (key, start) in enumerate(keys, start=1):
            path, is_last = (*path, key), number == len(keys)
            if is_last and not (is_element and path in self._elements):
                self._look_back(path, start, is_table=is_table)
            self._note(path, start)
            if is_last and is_element:
                self._elements[path] = self._elements.get(path, 0) + 1
            if path in self._elements:
                path = (*path, self._elements[path] - 1)
                self._note(path, start)
        return path

    def _dotted(self) -> list[tuple[str, int]]:
        """Read a dotted key and the white space after it; return its keys with their offsets."""
        keys = []
        while True:
            self._skip(_SPACE)
            start = self._at
            if not self._skip_string():
                self._skip(_BARE_KEY)
            keys.append((_plain(self._text[start : self._at]), start))
            self._skip(_SPACE)
            if self._text[self._at] != ".":
                return keys
            self._at += 1

    def _value(self, path: Path) -> None:
        match self._text[self._at]:
            case "[":
                self._entries(path, "]")
            case "{":
                self._entries(path, "}")
            case '"' | "'":
                self._skip_string()
            case _:
                self._skip(_SCALAR)

    def _entries(self, path: Path, closing: str) -> None:
        """Read the elements of an array, or the pairs of an inline table."""
        self._at += 1
        for index in count():
            self._skip(_BLANK)
            if self._text[self._at] == closing:
                break
            if closing == "}":
                self._pair(path)
            else:
                self._note((*path, index), self._at)
                self._value((*path, index))
            self._skip(_BLANK)
            self._skip(_COMMA)
        self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return True

    def _skip_string(self) -> bool:
        end = end_of_string(self._text, self._at)
        self._at = self._at if end is None else end
        return end is not None

    def _look_back(self, path: Path, offset: int, *, is_table: bool) -> None:
        if path in self._found:
            self.repeat = Repeat(path, is_table, self._place(offset), self._found[path])

    def _note(self, path: Path, offset: int) -> None:
        if len(path) > MAX_DEPTH:
            raise RecursionError(f"more than {MAX_DEPTH} levels")
        if path not in self._found:
            self._found[path] = self._place(offset)

    def _place(self, offset: int) -> Position:
        line = bisect_right(self._newlines, offset - 1)
        before = self._newlines[line - 1] if line else -1
        return line + 1, offset - before


def _plain(key: str) -> str:
    return key if key[0] not in "\"'" else next(iter(tomllib.loads(f"{key} = 0")))
