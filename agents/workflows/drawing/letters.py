"""Widths of texts without a font: those of a sans serif, a little generous. Pure."""

from __future__ import annotations

import unicodedata
from typing import Final

ELLIPSIS: Final = "…"
LONGEST: Final = 400
_NARROW: Final = frozenset("iljtfrI.,:;'|!()[]{} ")
_WIDE: Final = frozenset("mwMW@%")


def width_of(text: str, size: float) -> float:
    """Return the width of a text in a font of this size."""
    return sum(map(_em, text)) * size


def fitting(text: str, size: float, width: float) -> str:
    """Return the text, cut with an ellipsis if it is wider than the width."""
    text = text[:LONGEST]
    if width_of(text, size) <= width:
        return text
    room = width / size - 1
    for index, character in enumerate(text):
        room -= _em(character)
        if room < 0:
            return text[:index].rstrip() + ELLIPSIS
    return text


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in _NARROW:
        return 0.36
    if character in _WIDE:
        return 0.9
    return 0.68 if character.isupper() else 0.58
