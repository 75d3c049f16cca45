"""The fleet as it is now: workers by their heartbeats, queues by their runs.

Figures of the whole installation, not of a workspace: show them to its operators alone.

Usage::

    fleet = read_fleet()               # three queries over what is live, however long the history
    for sentence in fleet.problems: ...
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from django.db import connection

if TYPE_CHECKING:
    from collections.abc import Iterable

WorkerState = Literal["alive", "stale", "leaving"]

_WORKERS = """
    SELECT w.id, w.name, w.queues, w.slots, w.wanted,
           EXTRACT(EPOCH FROM clock_timestamp() - w.started_at)::float AS uptime_seconds,
           EXTRACT(EPOCH FROM clock_timestamp() - w.beat_at)::float AS beat_seconds,
           w.lease_seconds,
           (SELECT count(*) FROM agents_run r WHERE r.worker_id = w.id AND r.status = 'running')
               AS used
    FROM agents_workerheartbeat w
    WHERE w.gone_at IS NULL AND w.home = 'fleet' ORDER BY w.id
"""
# Every queued run of the fleet is in the index run_claimable, which is all that is read here.
_QUEUES = """
    SELECT r.queue,
           count(*) FILTER (WHERE NOT r.parked) AS depth,
           count(*) FILTER (WHERE r.parked) AS parked,
           coalesce(max(r.seconds) FILTER (WHERE NOT r.parked), 0)::float AS oldest_seconds
    FROM (SELECT t.queue, t.version_id = ANY ((SELECT heartbit_stopped())::bigint[]) AS parked,
                 EXTRACT(EPOCH FROM clock_timestamp() - t.available_at) AS seconds
          FROM agents_run t
          WHERE t.status = 'queued' AND t.home = 'fleet' AND t.available_at <= clock_timestamp()) r
    GROUP BY r.queue
"""
_RUNNING = """
    SELECT r.queue, count(*) AS running FROM agents_run r
    JOIN agents_workerheartbeat w ON w.id = r.worker_id
    WHERE r.worker_id IS NOT NULL AND w.home = 'fleet' GROUP BY r.queue
"""


@dataclass(frozen=True, slots=True)
class WorkerNow:
    """A worker process that has not left.

    Attributes:
        name: ``host:pid``.
        state: ``stale``: silent for longer than its lease, the next sweep takes its runs;
            ``leaving``: it was asked to stop or restart.
        wanted: What it was asked: ``stop``, ``restart`` or nothing.
        used: How many runs it holds.
        queues: What it serves; none: it tries one suspicious run alone, and leaves.
        beat_seconds: Since it last proved that it lives.
    """

    id: int
    name: str
    state: WorkerState
    wanted: str
    uptime_seconds: float
    beat_seconds: float
    slots: int
    used: int
    queues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueNow:
    """A queue that is served, or that has runs.

    Attributes:
        depth: Runs that could start now.
        parked: Runs that could, were their agent not stopped.
        oldest_seconds: How long the first of ``depth`` has waited; 0: there is none.
        served: Whether a living worker that is not leaving serves it.
    """

    name: str
    depth: int
    parked: int
    running: int
    oldest_seconds: float
    served: bool


@dataclass(frozen=True, slots=True)
class Fleet:
    """All of it.

    Attributes:
        slots: Of the workers that live.
        problems: One sentence for each thing that an operator has to look at.
    """

    workers: tuple[WorkerNow, ...]
    queues: tuple[QueueNow, ...]
    alive: int
    slots: int
    used: int
    queued: int
    problems: tuple[str, ...]


def read_fleet() -> Fleet:
    """Read it."""
    workers = tuple(_worker(row) for row in _rows(_WORKERS))
    queues = _queues(workers)
    living = [worker for worker in workers if worker.state != "stale"]
    return Fleet(
        workers=workers,
        queues=queues,
        alive=len(living),
        slots=sum(worker.slots for worker in living),
        used=sum(worker.used for worker in living),
        queued=sum(queue.depth for queue in queues),
        problems=tuple(_problems(workers, queues)),
    )


def _worker(row: dict[str, Any]) -> WorkerNow:
    state: WorkerState = "leaving" if row["wanted"] else "alive"
    if row["beat_seconds"] > row.pop("lease_seconds"):
        state = "stale"
    return WorkerNow(**{**row, "queues": tuple(json.loads(row["queues"]))}, state=state)


def _queues(workers: Iterable[WorkerNow]) -> tuple[QueueNow, ...]:
    waiting = {row["queue"]: row for row in _rows(_QUEUES)}
    running = {row["queue"]: row["running"] for row in _rows(_RUNNING)}
    served = {name for worker in workers if worker.state == "alive" for name in worker.queues}
    known = served | {name for worker in workers for name in worker.queues}
    return tuple(
        QueueNow(
            name=name,
            depth=waiting.get(name, {}).get("depth", 0),
            parked=waiting.get(name, {}).get("parked", 0),
            running=running.get(name, 0),
            oldest_seconds=waiting.get(name, {}).get("oldest_seconds", 0.0),
            served=name in served,
        )
        for name in sorted(known | waiting.keys() | running.keys())
    )


def _problems(workers: Iterable[WorkerNow], queues: Iterable[QueueNow]) -> Iterable[str]:
    for queue in queues:
        if queue.depth and not queue.served:
            runs = "1 run waits" if queue.depth == 1 else f"{queue.depth} runs wait"
            yield (
                f"{runs} in the queue {queue.name}, which no worker serves: "
                f"`heartbit serve --queues {queue.name}` starts one."
            )
    for worker in workers:
        if worker.state == "stale":
            yield (
                f"The worker {worker.name} has been silent for {worker.beat_seconds:.0f} s: it is "
                "dead, frozen or cut off, and its runs go to others."
            )


def _rows(query: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
