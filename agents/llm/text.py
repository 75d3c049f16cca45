"""Cleaning of external text and JSON for PostgreSQL, whose jsonb rejects NUL and lone surrogates.

Each becomes U+FFFD, the replacement character, like invalid UTF-8.
"""

from __future__ import annotations

import json
import math
from typing import Any

REPLACEMENT = "\ufffd"
_MAX_DEPTH = 64


def clean_text(text: str) -> str:
    """Return ``text`` without NUL characters and lone surrogates; surrogate pairs are joined."""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Any, *, depth: int = 0) -> Any:
    """Return parsed JSON with every string cleaned and numbers outside JSON as null.

    Values nested deeper than 64 levels become null: no provider needs them and writers recurse.
    """
    match value:
        case str():
            return clean_text(value)
        case float() if not math.isfinite(value):
            return None
        case dict() | list() if depth >= _MAX_DEPTH:
            return None
        case dict():
            return {
                clean_text(str(key)): clean_json(item, depth=depth + 1)
                for key, item in value.items()
            }
        case list():
            return [clean_json(item, depth=depth + 1) for item in value]
        case _:
            return value


def read_object(text: str) -> dict[str, Any] | None:
    """Parse ``text`` as a JSON object; return None for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class TextCleaner:
    """Cleaner of a text that arrives in pieces; a surrogate pair may span two of them."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return the cleaned text; a trailing first surrogate is held for the next piece."""
        text = self._held + piece
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._held = text[-1]
            text = text[:-1]
        return clean_text(text)

    def flush(self) -> str:
        """Return the held surrogate, replaced, at the end of the text."""
        held, self._held = self._held, ""
        return clean_text(held)
