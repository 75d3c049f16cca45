"""Whether the machine stood still: then a scenario has shown something else than it was to show.

A shared machine's disk stops now and then for seconds; every commit waits, the heartbeats' too, and
processes that nobody killed lose their leases, as they should. So somebody outside Heartbit commits
one small row ten times a second beside the scenario, and says how long the slowest took.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Self

import psycopg

if TYPE_CHECKING:
    from types import TracebackType

EVERY_SECONDS = 0.1
#: Of the shortest lease that a scenario sets: enough to make a heartbeat late.
LONG_SECONDS = 1.0
_TABLE = "CREATE TABLE IF NOT EXISTS chaos_pulse (at timestamptz)"


class Stalls:
    """Watches while it is entered.

    Attributes:
        longest: Seconds of the slowest commit, or of the longest time that this thread did not run.
    """

    def __init__(self, conninfo: str) -> None:
        self.longest = 0.0
        self._conninfo = conninfo
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="stalls", daemon=True)

    def __enter__(self) -> Self:
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            connection.execute(_TABLE)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join(timeout=60)

    @property
    def excuse(self) -> str:
        """One sentence when it stood still for long; else empty."""
        if self.longest < LONG_SECONDS:
            return ""
        return f"the machine stood still: one commit took {self.longest:.1f} s"

    def _watch(self) -> None:
        connection: psycopg.Connection | None = None
        while not self._over.is_set():
            began = time.monotonic()
            try:
                connection = connection or psycopg.connect(self._conninfo, autocommit=True)
                connection.execute("INSERT INTO chaos_pulse VALUES (clock_timestamp())")
            except psycopg.Error:
                # The scenario has taken the database away: that is its own fault to judge.
                connection = None
                began = time.monotonic()
            self.longest = max(self.longest, time.monotonic() - began)
            waited = time.monotonic()
            self._over.wait(EVERY_SECONDS)
            self.longest = max(self.longest, time.monotonic() - waited - EVERY_SECONDS)
        if connection is not None:
            connection.close()
