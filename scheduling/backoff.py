"""Schedules that could not be fired, and are let alone for a while.

The clocks look at the schedules whose time came first, so many at once. One that fails each time
would stay among the first; a hundred of them would keep all others from firing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 60.0


class FailureBackoff:
    """One process's. Another process finds out by itself."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[int, float] = {}

    def put(self, schedule_id: int) -> None:
        """Let it alone from now on."""
        self._until[schedule_id] = self._clock() + SECONDS

    def ids(self) -> list[int]:
        """Those that are let alone now."""
        now = self._clock()
        # A copy: a worker's clock and its tasks may be threads of one process.
        self._until = {one: until for one, until in dict(self._until).items() if until > now}
        return list(self._until)
