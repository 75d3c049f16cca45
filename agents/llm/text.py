"""Make text and JSON from outside safe to keep: PostgreSQL's jsonb takes no NUL and no half emoji.

A NUL character or a lone surrogate becomes U+FFFD, the replacement character, as broken UTF-8 does.
"""

from __future__ import annotations

import json
import math
from typing import Any

REPLACEMENT = "\ufffd"
_MAX_DEPTH = 64


def clean_text(text: str) -> str:
    """Return ``text`` without NUL characters and lone surrogates; pairs are joined, not lost."""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean_json(value: Any, *, depth: int = 0) -> Any:
    """Return parsed JSON with every string cleaned and numbers that JSON cannot write as null.

    Anything nested deeper than 64 levels becomes null: no provider needs it and writers recurse.
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
    """Parse ``text`` as a JSON object; None when it is anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class TextCleaner:
    """Clean a text that arrives in pieces; an emoji escaped as two halves may span two of them."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """Return what may be shown now; a trailing first half is held for the next piece."""
        text = self._held + piece
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._held = text[-1]
            text = text[:-1]
        return clean_text(text)

    def flush(self) -> str:
        """Return the held half, replaced, at the end of the text."""
        held, self._held = self._held, ""
        return clean_text(held)
