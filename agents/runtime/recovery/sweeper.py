"""Sweeper: a thread that finds expired leases, lost wake-ups and expired waits.

Every process has one. It needs only Postgres, and several sweepers can run at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from agents.choices import Placement
from agents.live.changes import EVERYWHERE, notify
from agents.runs.overdue_waits import end_overdue_runs, escalate_approvals, expire_waits
from agents.runtime.recovery.control_session import LOCK_CLASS
from agents.tracing import runs as traces
from heartbit_site.base import orm

logger = logging.getLogger(__name__)

UNANSWERED_SECONDS = 3.0  # a wake-up without a claim for this long counts as lost
BATCH = 200
FREE_SWEEPS = 2  # consecutive sweeps with a free lock: its owner may only be reconnecting
SECOND_LOOK_SECONDS = 0.5  # delay of the next sweep after one that found a lock free
#: Time after a lost connection during which free locks are ignored: others may have lost theirs.
SETTLING_SECONDS = 2.0

_SUSPECTS = """
    SELECT id, beat_at < clock_timestamp() - make_interval(secs => lease_seconds) AS stale,
           -- While the database is down no worker has a heartbeat or a lock; then all reconnect.
           pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => 2 * lease_seconds)
               AS settled
    FROM agents_workerheartbeat WHERE left_at IS NULL AND id <> %s
"""
# Workers that left or were declared lost, but still hold runs. Only running runs have a worker, and
# an index covers them.
_DEPARTED = """
    SELECT DISTINCT w.id FROM agents_run r JOIN agents_workerheartbeat w ON w.id = r.worker_id
    WHERE r.worker_id IS NOT NULL AND w.left_at IS NOT NULL
"""
# Usually nothing is overdue, which this query finds in three indexes.
_OVERDUE = """
    SELECT EXISTS (SELECT 1 FROM agents_wait
                   WHERE resolved_at IS NULL AND expires_at <= statement_timestamp()) AS expired,
           EXISTS (SELECT 1 FROM agents_wait
                   WHERE resolved_at IS NULL AND escalated_at IS NULL
                         AND escalates_at <= statement_timestamp()) AS undecided,
           EXISTS (SELECT 1 FROM agents_agentversion
                   WHERE (snapshot -> 'limits') ? 'max_wall_seconds') AS timed
"""
_QUEUES = "SELECT id, queue FROM agents_run WHERE id = ANY (%s) AND home = 'fleet'"
_ENDED = """
    SELECT t.id FROM agents_run r JOIN agents_run t ON t.root_id = r.root_id
    WHERE r.id = ANY (%s) AND t.finished_at >= now()
"""
_UNRUNG = """
    UPDATE agents_run SET woken_at = NULL WHERE id IN (
        SELECT id FROM agents_run
        WHERE id = ANY (%s) AND status = 'queued' AND home = 'fleet'
        FOR NO KEY UPDATE SKIP LOCKED)
"""


def _note_unexported(export: Future[None]) -> None:
    error = export.exception()
    if error is not None:
        logger.warning("the spans of quarantined runs are lost: %s", error)


@dataclass(frozen=True, slots=True)
class SweeperConfig:
    """Configuration of a sweeper.

    Attributes:
        conninfo: Connection string of the sweeper's own connection.
        own_worker_id: Returns the heartbeat row of its process, which never counts as lost.
        heartbeat_is_stable: Returns True if its process had heartbeats on time for a lease. A late
            sweeper may share the cause with the workers it would declare lost: a disk, a pooler, a
            network.
        free_slots: Returns the number of runs that its process could start now.
        wake: Wakes a run (id, queue) of the fleet; None: this process cannot wake runs.
        home: Placement of the runs whose approvals it escalates.
        escalated: Sends mail about an escalated wait.
    """

    conninfo: str
    every_seconds: float
    max_attempts: int
    queues: tuple[str, ...]
    own_worker_id: Callable[[], int]
    heartbeat_is_stable: Callable[[], bool]
    free_slots: Callable[[], int]
    wake: Callable[[UUID, str], None] | None
    home: Placement
    escalated: Callable[[int], None]


class Sweeper(threading.Thread):
    """Sweeper thread; a failed sweep, such as without a database, is repeated at the next pace."""

    def __init__(self, config: SweeperConfig) -> None:
        super().__init__(name="sweeper", daemon=True)
        self._config = config
        self._over = threading.Event()
        self._free: Counter[int] = Counter()
        self._trusts_locks_at = 0.0

    def stop(self) -> None:
        """Stop after the current sweep."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)

    def run(self) -> None:
        """Sweep at the configured interval."""
        connection: psycopg.Connection[dict[str, object]] | None = None
        while not self._over.wait(self.pause_seconds()):
            try:
                connection = connection or psycopg.connect(
                    self._config.conninfo,
                    autocommit=True,
                    row_factory=dict_row,
                    application_name="heartbit-sweeper",
                )
                self.sweep(connection)
            except Exception:  # whatever the error, the next sweep must run
                logger.exception("sweep failed; trying again")
                self.distrust_locks()
                if connection is not None:
                    connection.close()
                connection = None
        if connection is not None:
            connection.close()

    def distrust_locks(self) -> None:
        """Ignore free locks for a while, because their owners may be reconnecting."""
        self._free.clear()
        self._trusts_locks_at = time.monotonic() + SETTLING_SECONDS

    def pause_seconds(self) -> float:
        """Return the seconds until the next sweep: fewer while a worker seems lost."""
        every = self._config.every_seconds
        return min(every, SECOND_LOOK_SECONDS) if any(self._free.values()) else every

    def sweep(self, connection: psycopg.Connection[dict[str, object]]) -> None:
        """Sweep once."""
        runs: list[object] = []
        for worker_id in self._dead(connection):
            logger.warning("worker %s is lost: its runs are queued again", worker_id)
            runs += self._recovered(connection, worker_id)
            notify(EVERYWHERE, "runs", "calls", "fleet")
        runs += self._expired(connection)
        slots = min(BATCH, self._config.free_slots())
        if slots > 0:
            runs += self._ids(
                connection,
                "SELECT ring FROM heartbit_unanswered(%s, %s, %s)",
                (list(self._config.queues), slots, UNANSWERED_SECONDS),
            )
        if runs:
            self._wake(connection, runs)

    def _expired(self, connection: psycopg.Connection[dict[str, object]]) -> list[UUID]:
        """Expire and escalate overdue waits; return the runs to wake."""
        overdue = connection.execute(_OVERDUE).fetchone() or {}
        runs: list[UUID] = []
        if overdue["expired"]:
            runs = orm.shared().submit(expire_waits, BATCH).result()
            if runs:
                notify(EVERYWHERE, "runs", "calls")
        if overdue["timed"]:
            ended, rings = orm.shared().submit(end_overdue_runs, BATCH).result()
            if ended:
                runs += rings
                orm.shared().submit(traces.after_end, ended).add_done_callback(_note_unexported)
                notify(EVERYWHERE, "runs", "calls")
        if overdue["undecided"]:
            for wait_id in (
                orm.shared().submit(escalate_approvals, self._config.home, BATCH).result()
            ):
                self._config.escalated(wait_id)
                notify(EVERYWHERE, "calls")
        return runs

    def _wake(self, connection: psycopg.Connection[dict[str, object]], runs: list[object]) -> None:
        """Wake the runs, or leave them to the next sweep of a process that can."""
        if self._config.wake is None:
            connection.execute(_UNRUNG, (runs,))
            return
        for row in connection.execute(_QUEUES, (runs,)).fetchall():
            self._config.wake(row["id"], row["queue"])  # type: ignore[arg-type]

    def _recovered(
        self, connection: psycopg.Connection[dict[str, object]], worker_id: int
    ) -> list[object]:
        parameters = (worker_id, self._config.max_attempts)
        with connection.transaction():
            rows = connection.execute(
                "SELECT * FROM heartbit_recover(%s, %s)", parameters
            ).fetchall()
            quarantined = [row["quarantined"] for row in rows if row["quarantined"] is not None]
            # With their sub-agents' runs, which end with them.
            ended = connection.execute(_ENDED, (quarantined,)).fetchall() if quarantined else []
        if ended:  # a recovery waits for no thread, which the code of tools may hold
            ids = [UUID(str(row["id"])) for row in ended]
            orm.shared().submit(traces.after_end, ids).add_done_callback(_note_unexported)
        for row in rows:
            if row["quarantined"] is not None:
                logger.error(
                    "run %s is quarantined: its workers died %d times without progress; "
                    "`heartbit runs unquarantine`, `retry` or `discard` it",
                    row["quarantined"],
                    self._config.max_attempts,
                )
        return [row["ring"] for row in rows if row["ring"] is not None]

    def _dead(self, connection: psycopg.Connection[dict[str, object]]) -> list[int]:
        dead = [int(str(row["id"])) for row in connection.execute(_DEPARTED).fetchall()]
        rows = connection.execute(_SUSPECTS, (self._config.own_worker_id(),)).fetchall()
        steady = self._config.heartbeat_is_stable()
        trusts = time.monotonic() >= self._trusts_locks_at
        for row in rows:
            worker_id = int(str(row["id"]))
            free = trusts and row["settled"] and self._lock_is_free(connection, worker_id)
            self._free[worker_id] = self._free[worker_id] + 1 if free else 0
            silent = row["stale"] and row["settled"] and steady
            if silent or self._free[worker_id] >= FREE_SWEEPS:
                dead.append(worker_id)
        known = {int(str(row["id"])) for row in rows}
        for worker_id in [key for key in self._free if key not in known or key in dead]:
            del self._free[worker_id]
        return dead

    @staticmethod
    def _lock_is_free(connection: psycopg.Connection[dict[str, object]], worker_id: int) -> bool:
        # Autocommit: the end of this statement releases the transaction-scoped lock.
        row = connection.execute(
            "SELECT pg_try_advisory_xact_lock(%s, %s) AS free", (LOCK_CLASS, worker_id)
        ).fetchone()
        return bool(row and row["free"])

    @staticmethod
    def _ids(
        connection: psycopg.Connection[dict[str, object]],
        query: str,
        parameters: tuple[object, ...],
    ) -> list[object]:
        rows = connection.execute(query, parameters).fetchall()
        return [row["ring"] for row in rows]
