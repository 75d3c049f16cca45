"""Distributions of durations in few numbers, which can be added up.

Durations are counted by the logarithm of their length, so a percentile is at most 5 % off: this is
DDSketch with a relative accuracy of 0.05 (Masson, Rim and Lee, "DDSketch: a fast and
fully-mergeable quantile sketch with relative-error guarantees", VLDB 2019).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ACCURACY: Final = 0.05
_GROWTH: Final = (1 + _ACCURACY) / (1 - _ACCURACY)
#: Shorter durations count as this one, in seconds.
_SHORTEST: Final = 0.001


def bucket(seconds: str) -> str:
    """Return the SQL of the number under which a duration is counted.

    Args:
        seconds: SQL of a number of seconds; null stays null.
    """
    # greatest() alone would count a null as the shortest duration
    counted = f"ceil(ln(greatest({seconds}, {_SHORTEST})) / ln({_GROWTH!r}))::integer"
    return f"CASE WHEN ({seconds}) IS NOT NULL THEN {counted} END"


def percentile(counted: Mapping[str, int], share: float) -> float | None:
    """Return the duration in seconds that so large a share of them does not exceed.

    Args:
        counted: How many durations there are under each number.
        share: From 0 to 1.

    Returns:
        None if there is none.
    """
    numbers = sorted((int(number), count) for number, count in counted.items())
    left = share * (sum(count for _, count in numbers) - 1)
    for number, count in numbers:
        left -= count
        if left < 0:
            return float(2 * _GROWTH**number / (_GROWTH + 1))
    return None
