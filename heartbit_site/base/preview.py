"""Beginnings of long texts, for lists that do not hold the whole of them."""

from __future__ import annotations

from typing import Final

PREVIEW_CHARACTERS: Final = 500
_CUT: Final = "…"


def preview(text: str) -> str:
    """Return a text, or its beginning and an ellipsis if it is longer than a preview may be."""
    if len(text) <= PREVIEW_CHARACTERS:
        return text
    return text[: PREVIEW_CHARACTERS - len(_CUT)] + _CUT
