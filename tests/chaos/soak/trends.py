"""Whether a figure grows. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Growth:
    """A straight line through values over time.

    Attributes:
        percent_an_hour: Its slope, of the mean.
        error: Twice the slope's standard error, likewise: what is smaller than it may be noise.
    """

    percent_an_hour: float
    error: float


def growth(points: Sequence[tuple[float, float]]) -> Growth:
    """The least-squares line through (seconds, value); nothing grows in fewer than three."""
    count = len(points)
    if count < 3:
        return Growth(0.0, math.inf)
    middle = sum(at for at, _ in points) / count
    mean = sum(value for _, value in points) / count
    spread = sum((at - middle) ** 2 for at, _ in points)
    slope = sum((at - middle) * (value - mean) for at, value in points) / spread
    left = sum((value - mean - slope * (at - middle)) ** 2 for at, value in points)
    error = 2 * math.sqrt(left / (count - 2) / spread)
    scale = 3600 * 100 / mean
    return Growth(slope * scale, error * scale)


def ratio(values: Sequence[float], *, floor: float = 1.0) -> float:
    """The mean of the last third, in terms of the middle third's; below ``floor`` all is alike."""
    third = len(values) // 3
    if not third:
        return 1.0
    middle, last = values[third : 2 * third], values[-third:]
    return max(floor, sum(last) / third) / max(floor, sum(middle) / third)
