"""A rate as a token bucket whose whole state is one moment in time (GCRA)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    """It fills by ``per_second`` and holds ``size``."""

    per_second: float
    size: float

    def take(self, due: float, start: float, cost: float) -> tuple[float, float]:
        """Take ``cost``, at ``start`` or later.

        What costs more than the bucket holds goes when it is full; who comes later pays the rest.

        Args:
            due: When the bucket is full again, without this.
            start: The earliest moment.
            cost: How much is taken.

        Returns:
            When the bucket is full again now, and the moment at which ``cost`` may be used.
        """
        full = max(due, start)
        at = full + (min(cost, self.size) - self.size) / self.per_second
        return full + cost / self.per_second, max(start, at)
