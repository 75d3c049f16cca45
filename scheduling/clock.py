"""The clock of a worker process: a thread that does what has to be done also while Beat is down.

It fires due schedules, and rings for deliveries, and for warnings of quotas, that are overdue.
"""

from __future__ import annotations

import logging
import threading
import time

from django.db import connection

from scheduling.actions.fire_due import fire_due
from scheduling.actions.ring_overdue import ring_overdue
from scheduling.untold_quotas import UntoldQuotas

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0
OVERDUE_TICK_SECONDS = 5.0
RUNG_SECONDS = 15.0  # after a ring, as much time for whoever answers it


class Clock(threading.Thread):
    """Looks every second until stopped; any number of them do not disturb each other."""

    def __init__(self) -> None:
        super().__init__(name="clock", daemon=True)
        self._over = threading.Event()
        self._look_for_overdue_at = 0.0
        self._untold = UntoldQuotas()

    def stop(self) -> None:
        """End after the look under way."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)

    def run(self) -> None:
        """Look at the set pace."""
        while not self._over.wait(TICK_SECONDS):
            try:
                while fire_due() and not self._over.is_set():
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
        rung = ring_overdue(self._untold)
        if rung:
            self._look_for_overdue_at = now + RUNG_SECONDS
            logger.info("nobody rang for %s in time: is Beat there?", ", ".join(rung))
