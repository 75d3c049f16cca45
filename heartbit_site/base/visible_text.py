r"""Hidden characters made visible: direction changes, zero-width and control characters. Pure.

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

MARKS_IN_A_ROW: Final = 3  # more of them overlap the lines above

# Categories that draw nothing of their own: control, format, surrogate, private, unassigned, and
# separators, except the plain space.
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
    """Return True if a character is invisible, or changes how others are shown."""
    if character in _MEANT:
        return False
    return unicodedata.category(character) in _HIDDEN or _BLANK.match(character) is not None


def visible(text: str) -> str:
    r"""Replace every hidden character with its JSON escape, ``\uXXXX``; lines and tabs stay.

    JSON text keeps its meaning: such characters occur only within its strings.
    """
    return "".join(split_hidden(text))


def split_hidden(text: str) -> list[str]:
    """Cut a text at its hidden characters: visible text, an escape, visible text, ..."""
    pattern = "" if text.isascii() and text.isprintable() else _pattern(set(text))
    if not pattern:
        return [text]
    found = re.split(f"({pattern})", text)
    found[1::2] = map(json_escape, found[1::2])
    return found


def json_escape(character: str) -> str:
    """Return a character's JSON escape: two halves beyond the first plane."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def readable_json(value: object) -> str:
    r"""Return a JSON value on several lines, indented; parsing it gives the same value.

    Letters of all languages stay letters. Characters without a shape of their own become
    ``\uXXXX``, which in JSON is the same text; names stay in their order.
    """
    return visible(json.dumps(value, ensure_ascii=False, indent=2))


def compact_json(value: object) -> str:
    """Return a JSON value on one line, with hidden characters escaped."""
    return visible(json.dumps(value, ensure_ascii=False))


def _pattern(characters: set[str]) -> str:
    """Return a regular expression for those of the characters that are to be escaped."""
    hidden = _class(character for character in characters if is_hidden(character))
    marks = _class(c for c in characters if unicodedata.category(c) in _MARKS)
    choices = [hidden] if hidden else []
    if marks:
        choices.append(f"(?<={marks}{{{MARKS_IN_A_ROW}}}){marks}")
    return "|".join(choices)


def _class(characters: Iterable[str]) -> str:
    found = "".join(map(re.escape, sorted(characters)))
    return f"[{found}]" if found else ""
