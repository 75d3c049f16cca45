"""Token bucket whose whole state is one point in time (GCRA)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    """Token bucket that fills by ``per_second`` and holds ``size``."""

    per_second: float
    size: float

    def take(self, due: float, start: float, cost: float) -> tuple[float, float]:
        """Take ``cost``, at ``start`` or later.

        A cost above the bucket's size is allowed once the bucket is full; later callers wait for
        the rest.

        Args:
            due: Time at which the bucket is full, before this cost.
            start: Earliest time.
            cost: Amount to take.

        Returns:
            Time at which the bucket is full after this, and the time at which ``cost`` may be used.
        """
        full = max(due, start)
        at = full + (min(cost, self.size) - self.size) / self.per_second
        return full + cost / self.per_second, max(start, at)
