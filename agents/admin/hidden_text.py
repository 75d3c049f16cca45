r"""Make visible what a text hides: direction changes, zero-width and control characters. Pure.

A person decides by what they see. ``U+202E`` shows ``exe.txt`` for ``txt.exe``, a zero-width space
makes two names look like one, and ``ESC`` moves a terminal's cursor.

Usage::

    visible("a\u202eb")      # a\u202eb, the escape as six plain characters
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKS_IN_A_ROW = 3  # more of them climb over the lines above

# Categories that draw nothing of their own: control, format, surrogate, private, unassigned, and
# separators; of the latter the plain space is meant.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_MEANT = frozenset(" \n\t")
# Letters and marks that draw nothing all the same: grapheme joiner, Hangul fillers, inherent Khmer
# vowels, Mongolian and other variation selectors, the empty Braille pattern.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_MARKS = frozenset({"Mn", "Me"})


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a text; an escaped one stands for one character."""

    text: str
    escaped: bool


def is_hidden(character: str) -> bool:
    """Whether a character cannot be seen, or changes how others are seen."""
    if character in _MEANT:
        return False
    return unicodedata.category(character) in _HIDDEN or _BLANK.match(character) is not None


def parts(text: str) -> list[Part]:
    """The text in pieces, each hidden character as its JSON escape in a piece of its own."""
    pattern = _pattern(set(text))
    if not pattern:
        return [Part(text, escaped=False)] if text else []
    between = re.split(f"({pattern})", text)
    return [
        Part(_escape(piece) if index % 2 else piece, escaped=bool(index % 2))
        for index, piece in enumerate(between)
        if piece
    ]


def visible(text: str) -> str:
    """The text with every hidden character written as its JSON escape.

    Of JSON text, what comes out means the same: in it such characters occur only within strings.
    """
    return "".join(part.text for part in parts(text))


def _pattern(characters: set[str]) -> str:
    """What to escape of a text that is made of these characters, as a regular expression."""
    hidden = _class(character for character in characters if is_hidden(character))
    marks = _class(c for c in characters if unicodedata.category(c) in _MARKS and not is_hidden(c))
    choices = [hidden] if hidden else []
    if marks:
        choices.append(f"(?<={marks}{{{MARKS_IN_A_ROW}}}){marks}")
    return "|".join(choices)


def _class(characters: Iterable[str]) -> str:
    found = "".join(map(re.escape, sorted(characters)))
    return f"[{found}]" if found else ""


def _escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
