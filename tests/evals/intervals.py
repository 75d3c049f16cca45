"""Confidence intervals of 95 %."""

from __future__ import annotations

import random
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

_Z: Final = NormalDist().inv_cdf(0.975)
_SAMPLES: Final = 2_000


def share(hits: int, n: int) -> list[float]:
    """Return the Wilson interval of a share: lower and upper end."""
    centre, spread = hits + _Z**2 / 2, _Z * (hits * (n - hits) / n + _Z**2 / 4) ** 0.5
    return [round((centre + sign * spread) / (n + _Z**2), 4) for sign in (-1, 1)]


def paired(pairs: Sequence[tuple[bool, bool]]) -> list[float]:
    """Return the interval of the mean difference of pairs, by bootstrap: the same one each time."""
    drawn = random.Random(0)  # noqa: S311  no secret
    differences = [first - second for first, second in pairs]
    size = len(differences)
    means = sorted(sum(drawn.choices(differences, k=size)) / size for _ in range(_SAMPLES))
    return [round(means[int(_SAMPLES * place)], 4) for place in (0.025, 0.975)]
