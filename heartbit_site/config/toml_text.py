r"""TOML text of a value: ``tomllib`` reads back the same value, character for character.

Usage::

    string("You are\na poet.")      # a multi-line string
    value([1, {"a": True}])         # [1, { a = true }]

Existing writers turn ``\r\n`` into ``\n`` or escape every quote: a prompt must round-trip exactly
and stay easy to edit.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from heartbit_site.base.view import dollars

# Control characters, and those that reorder or hide text on screen: always escaped.
_UNSEEN: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
)
_NEEDS_ESCAPE: Final = re.compile(f"[{_UNSEEN}]")
_SINGLE: Final = re.compile(f'[{_UNSEEN}\n"\\\\]')
_MULTI: Final = re.compile(f'[{_UNSEEN}\\\\]|"(?="")|"\\Z')
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\", "\x08": "\\b"}


def key(name: str) -> str:
    """Return a key, quoted if necessary."""
    return name if _BARE.fullmatch(name) else f'"{_SINGLE.sub(_escape, name)}"'


def string(text: str) -> str:
    """Return a string in the form that needs the fewest escapes; line breaks stay line breaks."""
    return _several_lines(text) if "\n" in text else _one_line(text)


def value(content: object) -> str:
    """Return any value on one line, except strings of several lines.

    Raises:
        TypeError: TOML has no such value (None), or it is not supported (a date without time and
            zone).
    """
    match content:
        case bool():
            return "true" if content else "false"
        case int() | float():
            return repr(content)
        case Decimal():
            return str(dollars(content))  # without an exponent or trailing zeros
        case str():
            return string(content)
        case datetime() if content.tzinfo is not None:
            return content.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case list() | tuple():
            return f"[{', '.join(map(value, content))}]"
        case dict():
            pairs = [f"{key(str(name))} = {value(inner)}" for name, inner in content.items()]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    raise TypeError(f"{type(content).__name__} has no TOML form")


def _one_line(text: str) -> str:
    escapes = _SINGLE.search(text) is not None
    if escapes and "'" not in text and not _NEEDS_ESCAPE.search(text):
        return f"'{text}'"
    return f'"{_SINGLE.sub(_escape, text)}"'


def _several_lines(text: str) -> str:
    """Return a multi-line string; the line break after the opening quotes is not part of it."""
    awkward = "\\" in text or '"""' in text
    literal = "'''" not in text and not text.endswith("'") and not _NEEDS_ESCAPE.search(text)
    if awkward and literal:
        return f"'''\n{text}'''"
    return f'"""\n{_MULTI.sub(_escape, text)}"""'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT.get(character) or f"\\u{ord(character):04x}"
