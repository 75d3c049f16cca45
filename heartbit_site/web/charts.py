"""Charts: rectangles in coordinates of their own, scaled to the width there is (``chart.html``)."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

Number = float | Decimal


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle; ``kind`` is its class in the style sheets."""

    kind: str
    x: Number
    y: Number
    width: Number
    height: Number


@dataclass(frozen=True, slots=True)
class Mark:
    """Rectangles of one thing, such as a day, and what is said of it under the pointer."""

    said: str
    rects: tuple[Rect, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing.

    Attributes:
        style: Its class in the style sheets.
        said: What it shows, in words; empty: it is decoration beside them.
    """

    style: str
    width: int
    height: int
    said: str
    marks: tuple[Mark, ...]
