"""Text that a model wrote, shown so that nothing hides in it. Pure.

`output.clean` removes what steers a terminal; that is right for progress and wrong for what a
person approves. Here every such character stays visible, as its escape.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Final

# Controls, formats (direction marks, zero-width, tags), surrogates, private use, unassigned, and
# the two separators: none of them has a shape of its own.
_SHAPELESS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that are drawn as nothing, or as a space.
_INVISIBLE: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
    "\u180b\u180c\u180d\u180e\u180f"
    + "".join(map(chr, range(0xFE00, 0xFE10)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
_MARKS: Final = frozenset({"Mn", "Me"})
MARKS_IN_A_ROW: Final = 3  # more of them climb over the lines above


def visible(text: str) -> str:
    r"""The text on one line; what has no shape of its own as `\n`, `\u202e`, ..., a `\` as `\\`."""
    return _escape(text.replace("\\", "\\\\"), newline="\\n")


def readable_json(value: object) -> str:
    r"""A JSON value on several lines, indented; it parses to the same value again.

    Letters of all languages stay letters. What has no shape of its own is a `\uXXXX`, which in JSON
    is the same text; names stay in their order.
    """
    return _escape(json.dumps(value, ensure_ascii=False, indent=2), newline="\n")


def compact_json(value: object) -> str:
    """The same on one line."""
    return _escape(json.dumps(value, ensure_ascii=False), newline="\\n")


def _escape(text: str, *, newline: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    pieces = []
    marks = 0
    for letter in text:
        marks = marks + 1 if unicodedata.category(letter) in _MARKS else 0
        if letter == "\n":
            pieces.append(newline)
        elif marks > MARKS_IN_A_ROW or _is_hidden(letter):
            pieces.append(_code(letter))
        else:
            pieces.append(letter)
    return "".join(pieces)


def _is_hidden(letter: str) -> bool:
    if letter == " ":
        return False
    category = unicodedata.category(letter)
    # A space that is no space looks like one and is another text.
    return category in _SHAPELESS or category == "Zs" or letter in _INVISIBLE


def _code(letter: str) -> str:
    """As JSON spells it: beyond the first plane two halves."""
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
