"""Fallback for Celery Beat: a thread of each worker process that looks at the time by itself.

It fires due schedules, and enqueues what is overdue: deliveries, polls of mailboxes, quota notices.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from django.db import connection

from agents.housekeeping.enqueue_overdue import enqueue_overdue
from agents.housekeeping.pending_quota_notices import PendingQuotaNotices

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
OVERDUE_TICK_SECONDS = 5.0
RUNG_SECONDS = 15.0  # after a ring, as much time for whoever answers it


class SchedulerThread(threading.Thread):
    """Looks every second until stopped; any number of them do not disturb each other."""

    def __init__(self, fire_due: Callable[[], int]) -> None:
        """Prepare the thread.

        Args:
            fire_due: Fires due schedules; returns how many, 0 when no more are due.
        """
        super().__init__(name="clock", daemon=True)
        self._fire_due = fire_due
        self._over = threading.Event()
        self._look_for_overdue_at = 0.0
        self._untold = PendingQuotaNotices()

    def stop(self) -> None:
        """End after the look under way."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)

    def run(self) -> None:
        """Look at the set pace."""
        while not self._over.wait(TICK_SECONDS):
            try:
                while self._fire_due() and not self._over.is_set():
                    pass  # at nine o'clock there may be more than are fired at once
                self._ring_overdue()
            except Exception:  # whatever it was, the next look must come
                logger.exception("the clock failed; trying again")
                connection.close()
        connection.close()

    def _ring_overdue(self) -> None:
        now = time.monotonic()
        if now < self._look_for_overdue_at:
            return
        # Set first: a look that fails is not made again in a second.
        self._look_for_overdue_at = now + OVERDUE_TICK_SECONDS
        rung = enqueue_overdue(self._untold)
        if rung:
            self._look_for_overdue_at = now + RUNG_SECONDS
            logger.info("nobody rang for %s in time: is Beat there?", ", ".join(rung))
