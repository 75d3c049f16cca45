"""Fallback for Celery Beat: a thread in each worker process.

The thread fires due schedules, and enqueues overdue deliveries, mailbox polls, quota notices and
documents to be read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.db import connection

from agents.housekeeping.enqueue_overdue import PendingQuotaNotices, enqueue_overdue

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
OVERDUE_TICK_SECONDS = 5.0
RUNG_SECONDS = 15.0  # time for a worker to do the enqueued tasks before the next check


class SchedulerThread(threading.Thread):
    """Thread that checks every second until stopped; safe to run in many processes."""

    def __init__(self, fire_due: Callable[[], int]) -> None:
        """Prepare the thread.

        Args:
            fire_due: Fires due schedules; returns their number, 0 when none is left.
        """
        super().__init__(name="clock", daemon=True)
        self._fire_due = fire_due
        self._over = threading.Event()
        self._look_for_overdue_at = 0.0
        self._notices = PendingQuotaNotices()

    def stop(self) -> None:
        """Stop after the current check."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)

    def run(self) -> None:
        """Check every second until stopped."""
        while not self._over.wait(TICK_SECONDS):
            try:
                while self._fire_due() and not self._over.is_set():
                    pass  # more schedules may be due than are fired in one call
                self._enqueue_overdue()
            except Exception:  # the thread must survive any failure
                logger.exception("the clock failed; trying again")
                connection.close()
        connection.close()

    def _enqueue_overdue(self) -> None:
        now = time.monotonic()
        if now < self._look_for_overdue_at:
            return
        # Set first, so that a failing check is not repeated after a second.
        self._look_for_overdue_at = now + OVERDUE_TICK_SECONDS
        enqueued = enqueue_overdue(self._notices)
        if enqueued:
            self._look_for_overdue_at = now + RUNG_SECONDS
            logger.info("%s overdue: is Celery Beat running?", ", ".join(enqueued))
