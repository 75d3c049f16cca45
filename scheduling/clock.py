"""The clock of a worker process: a thread that fires due schedules, also while Beat is down."""

from __future__ import annotations

import logging
import threading

from django.db import connection

from scheduling.actions.fire_due import fire_due

logger = logging.getLogger(__name__)

TICK_SECONDS = 1.0


class Clock(threading.Thread):
    """Looks every second until stopped; any number of them do not disturb each other."""

    def __init__(self) -> None:
        super().__init__(name="clock", daemon=True)
        self._over = threading.Event()

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
            except Exception:  # whatever it was, the next look must come
                logger.exception("the clock failed; trying again")
                connection.close()
        connection.close()
