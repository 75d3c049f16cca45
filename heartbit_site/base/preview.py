"""Beginnings of long texts, for lists."""

from __future__ import annotations

from typing import Final

PREVIEW_CHARACTERS: Final = 500
_CUT: Final = "…"


def preview(text: str) -> str:
    """Return a text, cut with an ellipsis after ``PREVIEW_CHARACTERS``."""
    if len(text) <= PREVIEW_CHARACTERS:
        return text
    return text[: PREVIEW_CHARACTERS - len(_CUT)] + _CUT
