"""Throttle for log messages about a condition that is checked every second.

Usage::

    if throttle.is_news(schedule.pk, sentence):
        logger.exception(...)
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SILENCE_SECONDS = 3600.0
MOST = 1000  # sentences kept, however often they vary


class LogThrottle:
    """Logged sentences of one process; other processes keep their own."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[tuple[int, str], float] = {}

    def is_news(self, about: int, sentence: str) -> bool:
        """Return True if the sentence was not logged for the object within an hour, and note it."""
        now, key = self._clock(), (about, sentence)
        said = self._said.get(key)
        if said is not None and now - said < SILENCE_SECONDS:
            return False
        self._said.pop(key, None)  # keeps the oldest first
        self._said[key] = now
        if len(self._said) > MOST:
            del self._said[next(iter(self._said))]
        return True
