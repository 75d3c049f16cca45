"""Ends of the quoted texts of TOML, closed or not. Pure.

One pass from mark to mark: an expression for a whole text tries an unclosed one again and again.
"""

from __future__ import annotations

import re
from typing import Final

_MOST_QUOTES: Final = 2  # before the three that close a text of several lines
#: Per opening, what may end the text, and in one with escapes an escape.
_MARKS: Final = {
    '"': re.compile(r'\\.|["\n]'),
    "'": re.compile(r"['\n]"),
    3 * '"': re.compile(r'\\.|"""', re.DOTALL),
    3 * "'": re.compile("'''"),
}


def end_of_string(text: str, start: int) -> int | None:
    """Return the offset behind the quoted text that begins at an offset.

    None if none begins there, or if it is never closed, or not in its line.
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
