"""Back-off of schedules that could not be fired.

Each look takes a limited number of schedules, the earliest due first. Schedules that fail each time
would stay among the first; a hundred of them would keep all others from firing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

SECONDS = 60.0
SILENCE_SECONDS = 3600.0
MOST = 1000  # sentences kept, however often they vary


class FailureBackoff:
    """Failed schedules of one process; other processes keep their own."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[int, float] = {}
        self._said: dict[tuple[int, str], float] = {}

    def put(self, schedule_id: int) -> None:
        """Exclude a schedule for ``SECONDS``."""
        self._until[schedule_id] = self._clock() + SECONDS

    def ids(self) -> list[int]:
        """Return the schedules that are excluded now."""
        now = self._clock()
        # A copy, because a worker's scheduler and its tasks may be threads of one process.
        self._until = {one: until for one, until in dict(self._until).items() if until > now}
        return list(self._until)

    def is_news(self, schedule_id: int, sentence: str) -> bool:
        """Return True if the failure was not logged within an hour, and note it."""
        now, key = self._clock(), (schedule_id, sentence)
        said = self._said.get(key)
        if said is not None and now - said < SILENCE_SECONDS:
            return False
        self._said.pop(key, None)  # keeps the oldest first
        self._said[key] = now
        if len(self._said) > MOST:
            del self._said[next(iter(self._said))]
        return True
