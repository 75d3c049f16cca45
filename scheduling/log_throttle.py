"""What is wrong with a thing that is looked at every second, said once and not every second.

Usage::

    if complaints.is_news(schedule.pk, sentence):
        logger.exception(...)
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SILENCE_SECONDS = 3600.0
MOST = 1000  # sentences that are remembered; of one whose sentence is always another, no more


class LogThrottle:
    """One process's. Another process complains for itself."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[tuple[int, str], float] = {}

    def is_news(self, about: int, sentence: str) -> bool:
        """Whether this was not said of that one within the last hour; from now on it was."""
        now, key = self._clock(), (about, sentence)
        said = self._said.get(key)
        if said is not None and now - said < SILENCE_SECONDS:
            return False
        self._said.pop(key, None)  # so that the oldest stay first
        self._said[key] = now
        if len(self._said) > MOST:
            del self._said[next(iter(self._said))]
        return True
