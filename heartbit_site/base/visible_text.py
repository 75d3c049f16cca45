r"""Hidden characters made visible: direction changes, zero-width and control characters. Pure.

People decide by what they see. ``U+202E`` shows ``exe.txt`` for ``txt.exe``, a zero-width space
makes two names look like one, and ``ESC`` moves a terminal's cursor.

Usage::

    visible("a\u202eb")        # a\u202eb, the escape as six plain characters
    readable_json(arguments)   # indented, nothing hidden, and the same value when it is parsed
"""

from __future__ import annotations

import json
import unicodedata
from typing import Final

MARKS_IN_A_ROW: Final = 3  # more of them overlap the lines above

_MEANT: Final = frozenset(" \n\t")
# Letters and marks that are nevertheless invisible: grapheme joiner, Hangul fillers, inherent Khmer
# vowels, Mongolian and other variation selectors, the empty Braille pattern.
_BLANK: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0"
) | {chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))}
_MARKS: Final = frozenset({"Mn", "Me"})
_SECOND_PLANE: Final = 0x10000


def is_hidden(character: str) -> bool:
    """Return True if a character is invisible, or changes how others are shown."""
    if character in _MEANT:
        return False
    # Not printable are controls, formats, surrogates, private and unassigned characters, and
    # separators except the plain space: characters without a glyph.
    return not character.isprintable() or character in _BLANK


def visible(text: str) -> str:
    r"""Replace every hidden character with its JSON escape, ``\uXXXX``; lines and tabs stay.

    JSON text keeps its meaning: such characters occur only within its strings.
    """
    return "".join(split_hidden(text))


def split_hidden(text: str) -> list[str]:
    """Cut a text at its hidden characters: visible text, an escape, visible text, ..."""
    if text.isascii() and text.isprintable():
        return [text]
    hidden, marks = set(), set()
    for one in set(text):
        if is_hidden(one):
            hidden.add(one)
        if unicodedata.category(one) in _MARKS:
            marks.add(one)
    if not hidden and not marks:
        return [text]
    # One pass: a regular expression of all occurring characters takes a minute for some 1 MB texts.
    escapes = {one: json_escape(one) for one in hidden | marks}
    found: list[str] = []
    start, in_a_row = 0, 0
    for place, one in enumerate(text):
        if one not in escapes:
            in_a_row = 0
            continue
        in_a_row = in_a_row + 1 if one in marks else 0
        if one in hidden or in_a_row > MARKS_IN_A_ROW:
            found += (text[start:place], escapes[one])
            start = place + 1
    return [*found, text[start:]]


def json_escape(character: str) -> str:
    """Return a character's JSON escape: two halves beyond the first plane."""
    code = ord(character)
    if code < _SECOND_PLANE:
        return f"\\u{code:04x}"
    high, low = divmod(code - _SECOND_PLANE, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def readable_json(value: object) -> str:
    r"""Return a JSON value on several lines, indented; parsing it gives the same value.

    Letters of all languages stay letters. Characters without a shape of their own become
    ``\uXXXX``, which in JSON is the same text; names stay in their order.
    """
    return visible(json.dumps(value, ensure_ascii=False, indent=2))


def compact_json(value: object) -> str:
    """Return a JSON value on one line, with hidden characters escaped."""
    return visible(json.dumps(value, ensure_ascii=False))
