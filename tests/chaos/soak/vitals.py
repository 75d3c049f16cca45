"""What must not grow, looked at every ten seconds; and what must never be seen."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import psutil
from django.conf import settings
from django.db import connection
from redis import Redis

from heartbit_site.base import queues
from tests.bench.costs import rss_mb, server_processes
from tests.chaos.rig import say

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.rig import Rig

SAMPLE_SECONDS = 10.0
LOOK_SECONDS = 2.0
NO_EXPIRY = -1  # as Valkey says it
#: A run that may start and does not for so long is stuck.
QUEUED_SECONDS = 30.0

_COUNTS = """
    SELECT
        count(*) FILTER (WHERE status = 'queued' AND available_at <= clock_timestamp()),
        count(*) FILTER (WHERE status = 'running'),
        count(*) FILTER (WHERE status = 'waiting'),
        count(*) FILTER (WHERE finished_at IS NOT NULL),
        (SELECT count(*) FROM agents_wait WHERE resolved_at IS NULL),
        (SELECT count(*) FROM agents_workerheartbeat WHERE left_at IS NULL),
        (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()),
        h.bytes, h.dead
    FROM agents_run, (
        SELECT sum(pg_relation_size(relid))::bigint AS bytes,
               (sum(n_dead_tup) / greatest(1, sum(n_dead_tup + n_live_tup)))::float AS dead
        FROM pg_stat_user_tables WHERE relname = ANY(%s)) h
    GROUP BY h.bytes, h.dead
"""
#: Tables whose rows are changed while runs work.
HOT = ["agents_run", "agents_toolcall", "agents_wait", "agents_workerheartbeat"]
_STUCK = """
    SELECT r.id::text, r.status FROM agents_run r
    LEFT JOIN agents_workerheartbeat w ON w.id = r.worker_id
    WHERE (r.status = 'running'
           AND w.beat_at < clock_timestamp() - make_interval(secs => 2 * w.lease_seconds))
       OR (r.status = 'queued' AND r.available_at < clock_timestamp() - make_interval(secs => %s))
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """One look.

    Attributes:
        at: Seconds since the beginning.
        survivor_mb: Resident memory of the worker that is never killed.
        survivor_files: Its open files, connections among them.
        postgres_mb: All processes of it, shared pages counted once.
        valkey_mb: What Valkey says it uses.
        live_streams: Its keys that hold a run's live output; they stay for a day.
        other_keys: All its other keys; most go within minutes, as the mark of each team.
        lasting_keys: Those of them that never expire.
        doorbells: Messages on the workers' queues.
        table_bytes: Of the tables whose rows change often, without indexes.
        dead_share: Rows of them that await vacuum, of all their rows.
        queued: Runs that may start now.
    """

    at: float
    survivor_mb: float
    survivor_files: int
    postgres_mb: float
    valkey_mb: float
    live_streams: int
    other_keys: int
    lasting_keys: int
    doorbells: int
    queued: int
    running: int
    waiting: int
    ended: int
    open_waits: int
    heartbeats: int
    connections: int
    table_bytes: int
    dead_share: float


@dataclass(slots=True)
class Vitals:
    """Looks, and keeps what it saw, also as lines of ``vitals.jsonl``.

    Attributes:
        stuck: Runs that a worker held without beating for two leases, or that nobody started.
    """

    on: Rig
    survivor: int
    path: Path
    samples: list[Sample] = field(default_factory=list)
    stuck: dict[str, str] = field(default_factory=dict)
    _began: float = field(default_factory=time.monotonic)
    _look: float = 0.0
    _sample: float = 0.0
    _valkey: Any = None
    _postgres: psutil.Process | None = None

    def look(self) -> None:
        """Look if it is time to."""
        now = time.monotonic()
        if now >= self._look:
            self._look = now + LOOK_SECONDS
            self._alarm()
        if now >= self._sample:
            self._sample = now + SAMPLE_SECONDS
            self.samples.append(self._take(now - self._began))
            with self.path.open("a") as file:
                file.write(json.dumps(asdict(self.samples[-1])) + "\n")

    def stream_bytes(self) -> float:
        """What one run's live output takes in Valkey, on average over some."""
        keys = list(self._client().scan_iter("heartbit:live:*", count=500))[:200]
        sizes = [self._client().memory_usage(key) or 0 for key in keys]
        return sum(sizes) / max(1, len(sizes))

    def close(self) -> None:
        """Let the connection go."""
        self._client().close()

    def _client(self) -> Any:
        if self._valkey is None:
            self._valkey = Redis.from_url(settings.REDIS_URL)
        return self._valkey

    def _alarm(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_STUCK, [QUEUED_SECONDS])
            for run_id, status in cursor.fetchall():
                if run_id not in self.stuck:
                    say(f"run {run_id} is stuck: {status}")
                self.stuck[run_id] = status

    def _take(self, at: float) -> Sample:
        with connection.cursor() as cursor:
            cursor.execute(_COUNTS, [HOT])
            (counts,) = cursor.fetchall() or [(0,) * 9]
        queued, running, waiting, ended, waits, heartbeats, connections, size, dead = counts
        valkey = self._client()
        others = [
            key for key in valkey.scan_iter(count=1000) if not key.startswith(b"heartbit:live:")
        ]
        expiry = valkey.pipeline(transaction=False)
        for key in others:
            expiry.ttl(key)
        lasting = sum(left == NO_EXPIRY for left in expiry.execute())
        return Sample(
            at=round(at, 1),
            survivor_mb=rss_mb(self.survivor),
            survivor_files=psutil.Process(self.survivor).num_fds(),
            postgres_mb=self._postgres_mb(),
            valkey_mb=valkey.info("memory")["used_memory"] / 1e6,
            live_streams=valkey.dbsize() - len(others),
            other_keys=len(others),
            lasting_keys=lasting,
            doorbells=sum(map(valkey.llen, (self.on.queue, queues.SYSTEM))),
            queued=queued,
            running=running,
            waiting=waiting,
            ended=ended,
            open_waits=waits,
            heartbeats=heartbeats,
            connections=connections,
            table_bytes=size,
            dead_share=round(dead, 3),
        )

    def _postgres_mb(self) -> float:
        if self._postgres is None:
            found = {process.name(): process for process in server_processes()}
            self._postgres = found["postgres"]
        total = 0
        for process in (self._postgres, *self._postgres.children(recursive=True)):
            try:
                total += process.memory_full_info().pss
            except psutil.NoSuchProcess:
                continue
        return total / 1e6
