r"""Make visible what a text hides: direction changes, zero-width and control characters. Pure.

A person decides by what they see. ``U+202E`` shows ``exe.txt`` for ``txt.exe``, a zero-width space
makes two names look like one, and ``ESC`` moves a terminal's cursor.

Usage::

    visible("a\u202eb")        # a\u202eb, the escape as six plain characters
    readable_json(arguments)   # indented, nothing hidden, and the same value when it is parsed
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MARKS_IN_A_ROW: Final = 3  # more of them climb over the lines above

# Categories that draw nothing of their own: control, format, surrogate, private, unassigned, and
# separators; of the latter the plain space is meant.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_MEANT: Final = frozenset(" \n\t")
# Letters and marks that draw nothing all the same: grapheme joiner, Hangul fillers, inherent Khmer
# vowels, Mongolian and other variation selectors, the empty Braille pattern.
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
_MARKS: Final = frozenset({"Mn", "Me"})


def is_hidden(character: str) -> bool:
    """Whether a character cannot be seen, or changes how others are seen."""
    if character in _MEANT:
        return False
    return unicodedata.category(character) in _HIDDEN or _BLANK.match(character) is not None


def visible(text: str) -> str:
    r"""The text with every hidden character as its JSON escape, ``\uXXXX``; lines and tabs stay.

    Of JSON text, what comes out means the same: in it such characters occur only within strings.
    """
    return "".join(split_hidden(text))


def split_hidden(text: str) -> list[str]:
    """The text cut at its hidden characters: what is seen, an escape, what is seen, ..."""
    pattern = "" if text.isascii() and text.isprintable() else _pattern(set(text))
    if not pattern:
        return [text]
    found = re.split(f"({pattern})", text)
    found[1::2] = map(json_escape, found[1::2])
    return found


def json_escape(character: str) -> str:
    """Its escape as JSON spells it: beyond the first plane two halves."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def readable_json(value: object) -> str:
    r"""A JSON value on several lines, indented; it parses to the same value again.

    Letters of all languages stay letters. What has no shape of its own is a ``\uXXXX``, which in
    JSON is the same text; names stay in their order.
    """
    return visible(json.dumps(value, ensure_ascii=False, indent=2))


def compact_json(value: object) -> str:
    """The same on one line."""
    return visible(json.dumps(value, ensure_ascii=False))


def _pattern(characters: set[str]) -> str:
    """What to escape of a text that is made of these characters, as a regular expression."""
    hidden = _class(character for character in characters if is_hidden(character))
    marks = _class(c for c in characters if unicodedata.category(c) in _MARKS)
    choices = [hidden] if hidden else []
    if marks:
        choices.append(f"(?<={marks}{{{MARKS_IN_A_ROW}}}){marks}")
    return "|".join(choices)


def _class(characters: Iterable[str]) -> str:
    found = "".join(map(re.escape, sorted(characters)))
    return f"[{found}]" if found else ""
