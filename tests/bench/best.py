"""Of several measurements of the same thing the best one counts, and all are told.

The processor of a shared machine runs at half its speed for minutes: identical code took 9 and 25
milliseconds within two hours. What disturbs a measurement only adds to it, so the least
is nearest to what the code costs (as ``timeit`` says of its repetitions). What misses is therefore
measured again after all else, some minutes later. That holds for speed alone: whatever must be 0,
as lost runs, counts from every measurement.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.bench.figures import Figure, Row

Key = tuple[str, str]


class Best:
    """Collects rows, and keeps the best of each workload and path."""

    def __init__(self) -> None:
        self._best: dict[Key, Row] = {}
        self._told: dict[Key, list[dict[str, float]]] = {}

    def add(self, row: Row) -> Row:
        """Take a row; the best one so far of its workload and path, with what all measured."""
        key = (row.workload, row.path)
        told = self._told.setdefault(key, [])
        told.append({one.name: round(one.value, 2) for one in row.figures if one.target})
        before = self._best.get(key)
        best = row if before is None or _worth(row) < _worth(before) else before
        if len(told) > 1:
            best = dataclasses.replace(best, also=best.also | {"measured": told})
        self._best[key] = best
        return best

    def rows(self) -> list[Row]:
        """The best ones, in the order in which they were first measured."""
        return list(self._best.values())

    def missed(self) -> list[str]:
        """The workloads that no measurement has passed."""
        return list(dict.fromkeys(row.workload for row in self.rows() if not row.passed))


def _worth(row: Row) -> tuple[bool, int, float]:
    """Less is better; a broken promise is worse than any time, so that it is never replaced."""
    broken = any(one.target == 0 and not one.met for one in row.figures)
    missed = [one for one in row.figures if not one.met]
    return (not broken, len(missed), sum(_share(one) for one in row.figures))


def _share(figure: Figure) -> float:
    """How much of its target a figure takes; 1 is just met."""
    if not figure.target or not figure.value:
        return 0.0
    share = figure.value / figure.target
    return 1 / share if figure.at_least else share
