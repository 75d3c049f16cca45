"""Workers that are meant to die, on one queue: whoever has died is born again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import WorkerHeartbeat
from tests.fleet import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.nursery import Nursery


class Brood:
    """So many workers, each with so many slots.

    Attributes:
        births: How many were started.
    """

    def __init__(self, nursery: Nursery, queue: str, *, count: int, concurrency: int = 1) -> None:
        self.births = 0
        self._nursery = nursery
        self._queue = queue
        self._count = count
        self._concurrency = concurrency
        self._pids: list[int] = []

    def tend(self) -> None:
        """Start as many as have died."""
        alive = self._nursery.alive()
        self._pids = [pid for pid in self._pids if pid in alive]
        while len(self._pids) < self._count:
            self._pids.append(self._nursery.spawn(self._queue, concurrency=self._concurrency))
            self.births += 1

    def ready(self) -> None:
        """Wait until all are registered."""
        self.tend()
        wait_until(self._registered, seconds=60, what="the brood to register")

    def _registered(self) -> bool:
        names = WorkerHeartbeat.objects.filter(left_at__isnull=True).values_list("name", flat=True)
        known = {int(name.rpartition(":")[2]) for name in names}
        return known.issuperset(self._pids)


def deaths_in(markers: Path) -> dict[str, list[float]]:
    """When the workers of each run died, by run id."""
    found: dict[str, list[float]] = {}
    for marker in sorted(markers.iterdir()):
        found.setdefault(marker.name.partition(".")[0], []).append(float(marker.read_text()))
    return found
