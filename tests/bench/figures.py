"""A measured figure with its target, and the row of figures that one measurement gives."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Figure:
    """One number.

    Attributes:
        name: What it is, for people.
        value: As measured; NaN misses every target.
        unit: What the value counts.
        target: None where nothing is promised.
        at_least: The target is a lower bound; else an upper one.
    """

    name: str
    value: float
    unit: str = "ms"
    target: float | None = None
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether the target holds; also where there is none."""
        if self.target is None:
            return True
        return self.value >= self.target if self.at_least else self.value <= self.target

    def to_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        return {
            "figure": self.name,
            "value": None if math.isnan(self.value) else round(self.value, 3),
            "unit": self.unit,
            "target": self.target,
            "at_least": self.at_least,
            "met": self.met,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """What one measurement of one path gave; ``also`` holds what explains the figures."""

    workload: str
    path: str
    figures: tuple[Figure, ...]
    also: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether no target was missed."""
        return all(figure.met for figure in self.figures)

    def to_json(self) -> dict[str, Any]:
        """As it stands in the file."""
        figures = [figure.to_json() for figure in self.figures]
        named = {"workload": self.workload, "path": self.path, "pass": self.passed}
        return {**named, **self.also, "figures": figures}


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies (nearest rank); NaN of nothing."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
