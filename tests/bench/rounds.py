"""Several rounds of the same measurements: the median of all of them counts, none is dropped.

The processor of a shared machine drifts within minutes, so floors and ourselves are interleaved in
each round, and the rounds are spread over the whole bench. What must be 0, as lost runs, is that of
the worst round.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.bench.figures import Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.figures import Figure


class Rounds:
    """Collects the rows of all rounds."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], list[Row]] = {}

    def add(self, row: Row) -> Row:
        """Take a row; what all rounds of its workload and path so far come to."""
        found = self._rows.setdefault((row.workload, row.path), [])
        found.append(row)
        return combined(found)

    def rows(self) -> list[Row]:
        """Return what all rounds come to, in the order in which they were first measured."""
        return [combined(found) for found in self._rows.values()]


def combined(rows: Sequence[Row]) -> Row:
    """Return one row of several."""
    first = rows[0]
    if len(rows) == 1:
        return first
    of_each = [[row.figures[index] for row in rows] for index in range(len(first.figures))]
    figures = tuple(replace(same[0], value=_judged(same)) for same in of_each)
    keys = dict.fromkeys(key for row in rows for key in row.also)
    also = {key: _middle([row.also[key] for row in rows if key in row.also]) for key in keys}
    also["rounds"] = {same[0].name: [round(each.value, 2) for each in same] for same in of_each}
    return Row(first.workload, first.path, figures, also)


def _judged(same: Sequence[Figure]) -> float:
    values = [figure.value for figure in same]
    if any(map(math.isnan, values)):
        return math.nan
    return max(values) if same[0].target == 0 else statistics.median(values)


def _middle(values: Sequence[Any]) -> Any:
    """Return the median of numbers, those of the parts of objects, and of others the first."""
    if all(isinstance(value, dict) for value in values):
        keys = dict.fromkeys(key for value in values for key in value)
        return {key: _middle([value[key] for value in values if key in value]) for key in keys}
    if all(isinstance(value, int | float) for value in values):
        return round(statistics.median(values), 3)
    return values[0]
