"""Current state of the fleet: workers by their heartbeats, queues by their runs.

The figures cover the whole installation, not a workspace: show them to operators only.

Usage::

    fleet = read_fleet()               # five queries over live rows, however long the history
    for sentence in fleet.problems: ...
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from agents.models.pause import Pause, PauseKind
from heartbit_site.base.query import fetch_named

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from uuid import UUID

WorkerState = Literal["alive", "stale", "leaving"]

_WORKERS = """
    SELECT w.id, w.name, w.queues, w.slots, w.requested_action,
           EXTRACT(EPOCH FROM clock_timestamp() - w.started_at)::float AS uptime_seconds,
           EXTRACT(EPOCH FROM clock_timestamp() - w.beat_at)::float AS beat_seconds,
           w.lease_seconds,
           (SELECT count(*) FROM agents_run r WHERE r.worker_id = w.id AND r.status = 'running')
               AS used
    FROM agents_workerheartbeat w
    WHERE w.left_at IS NULL AND w.home = 'fleet' ORDER BY w.id
"""
# Only the index run_claimable is read: it has every queued run of the fleet.
_QUEUES = """
    SELECT r.queue,
           count(*) FILTER (WHERE NOT r.parked) AS depth,
           count(*) FILTER (WHERE r.parked) AS parked,
           coalesce(max(r.seconds) FILTER (WHERE NOT r.parked), 0)::float AS oldest_seconds
    FROM (SELECT t.queue, t.version_id = ANY ((SELECT heartbit_stopped())::bigint[])
                          OR t.queue = ANY ((SELECT heartbit_paused())::text[])
                          OR heartbit_halts(t.workspace_id, (SELECT heartbit_halted())::bigint[])
                          AS parked,
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
_AT_WORK = """
    SELECT w.id AS worker, r.id, r.agent, s.slug AS workspace
    FROM agents_workerheartbeat w CROSS JOIN LATERAL (
        SELECT t.id, t.agent, t.workspace_id FROM agents_run t
        WHERE t.worker_id = w.id AND t.status = 'running' ORDER BY t.id LIMIT %s) r
    JOIN base_workspace s ON s.id = r.workspace_id
    WHERE w.left_at IS NULL AND w.home = 'fleet' ORDER BY r.id
"""
SHOWN = 20  # running runs listed per worker


@dataclass(frozen=True, slots=True)
class WorkingNow:
    """A run that a worker holds.

    Attributes:
        workspace: Slug of the workspace.
    """

    id: UUID
    agent: str
    workspace: str


@dataclass(frozen=True, slots=True)
class PauseNow:
    """An active pause.

    Attributes:
        kind: queue, workspace, tool or all.
        name: Name of the queue or tool, or slug of the workspace; empty for ``all``.
        workspace: Slug of the one workspace where a tool is disabled; else empty.
        by_operator: True if an operator paused; else a manager of the workspace.
    """

    kind: str
    name: str
    workspace: str
    reason: str
    by: str
    by_operator: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class WorkerNow:
    """A worker process that has not left.

    Attributes:
        name: ``host:pid``.
        state: ``stale``: no heartbeat for longer than its lease, so the next sweep requeues its
            runs; ``leaving``: it was asked to stop or restart.
        requested_action: Requested action: ``stop``, ``restart`` or empty.
        used: Number of runs it holds.
        queues: Queues it serves; empty for a process that executes one suspect run in isolation.
        beat_seconds: Seconds since its last heartbeat.
        runs: First ``SHOWN`` of the runs it holds.
    """

    id: int
    name: str
    state: WorkerState
    requested_action: str
    uptime_seconds: float
    beat_seconds: float
    slots: int
    used: int
    queues: tuple[str, ...]
    runs: tuple[WorkingNow, ...]


@dataclass(frozen=True, slots=True)
class QueueNow:
    """A queue that is served or has runs.

    Attributes:
        depth: Number of runs that could start now.
        parked: Number of runs held back because the queue is paused or their agent or workspace
            stopped.
        oldest_seconds: Waiting time of the oldest run in ``depth``; 0 if it is empty.
        served: True if a live worker that is not leaving serves the queue.
        workers: Number of such workers.
    """

    name: str
    depth: int
    parked: int
    running: int
    oldest_seconds: float
    served: bool
    workers: int
    paused: bool


@dataclass(frozen=True, slots=True)
class Fleet:
    """State of the fleet.

    Attributes:
        slots: Slots of the live workers.
        pauses: Active pauses, the earliest first.
        problems: One sentence for each problem that needs an operator.
    """

    workers: tuple[WorkerNow, ...]
    queues: tuple[QueueNow, ...]
    alive: int
    slots: int
    used: int
    queued: int
    pauses: tuple[PauseNow, ...]
    problems: tuple[str, ...]


def read_fleet() -> Fleet:
    """Return the current state of the fleet."""
    at_work: dict[int, list[WorkingNow]] = {}
    for row in _rows(_AT_WORK, SHOWN):
        at_work.setdefault(row.pop("worker"), []).append(WorkingNow(**row))
    workers = tuple(_worker(row, at_work.get(row["id"], ())) for row in _rows(_WORKERS))
    pauses = _pauses()
    queues = _queues(workers, {one.name for one in pauses if one.kind == PauseKind.QUEUE})
    living = [worker for worker in workers if worker.state != "stale"]
    return Fleet(
        workers=workers,
        queues=queues,
        alive=len(living),
        slots=sum(worker.slots for worker in living),
        used=sum(worker.used for worker in living),
        queued=sum(queue.depth for queue in queues),
        pauses=pauses,
        problems=(*_standing_still(pauses), *_problems(workers, queues)),
    )


def _worker(row: dict[str, Any], runs: Iterable[WorkingNow]) -> WorkerNow:
    state: WorkerState = "leaving" if row["requested_action"] else "alive"
    if row["beat_seconds"] > row.pop("lease_seconds"):
        state = "stale"
    queues = tuple(json.loads(row["queues"]))
    return WorkerNow(**{**row, "queues": queues}, state=state, runs=tuple(runs))


def _pauses() -> tuple[PauseNow, ...]:
    return tuple(_pause(row) for row in Pause.objects.select_related("workspace"))


def _pause(row: Pause) -> PauseNow:
    slug = row.workspace.slug if row.workspace is not None else ""
    return PauseNow(
        kind=row.kind,
        name=row.queue or row.tool or slug,
        workspace=slug if row.tool else "",
        reason=row.reason,
        by=row.by,
        by_operator=row.by_operator,
        at=row.at,
    )


def _queues(workers: Iterable[WorkerNow], paused: set[str]) -> tuple[QueueNow, ...]:
    waiting = {row["queue"]: row for row in _rows(_QUEUES)}
    running = {row["queue"]: row["running"] for row in _rows(_RUNNING)}
    serving = Counter(
        name for worker in workers if worker.state == "alive" for name in worker.queues
    )
    known = {name for worker in workers for name in worker.queues} | paused
    return tuple(
        QueueNow(
            name=name,
            depth=waiting.get(name, {}).get("depth", 0),
            parked=waiting.get(name, {}).get("parked", 0),
            running=running.get(name, 0),
            oldest_seconds=waiting.get(name, {}).get("oldest_seconds", 0.0),
            served=serving[name] > 0,
            workers=serving[name],
            paused=name in paused,
        )
        for name in sorted(known | waiting.keys() | running.keys())
    )


def _standing_still(pauses: Iterable[PauseNow]) -> Iterable[str]:
    for pause in pauses:
        why = "" if pause.by_operator else ", who manages it"
        why += f" ({pause.reason})" if pause.reason else ""
        if pause.kind == PauseKind.ALL:
            yield f"Everything was stopped by {pause.by}{why}: `heartbit fleet resume` ends that."
        elif pause.kind == PauseKind.WORKSPACE:
            yield (
                f"The workspace {pause.name} was stopped by {pause.by}{why}: "
                f"`heartbit fleet resume {pause.name}` ends that."
            )
        elif pause.kind == PauseKind.TOOL:
            place, there = "", ""
            if pause.workspace:
                place, there = f" in {pause.workspace}", f" --workspace {pause.workspace}"
            yield (
                f"The tool {pause.name} was stopped{place} by {pause.by}{why}: "
                f"`heartbit fleet enable-tool {pause.name}{there}` ends that."
            )


def _problems(workers: Iterable[WorkerNow], queues: Iterable[QueueNow]) -> Iterable[str]:
    for queue in queues:
        if queue.depth and not queue.served:
            runs = "1 run waits" if queue.depth == 1 else f"{queue.depth} runs wait"
            yield (
                f"{runs} in the queue {queue.name}, which no worker serves: "
                f"`heartbit serve --queues {queue.name}` starts one."
            )
        if queue.paused:
            runs = "1 run is" if queue.parked == 1 else f"{queue.parked or 'no'} runs are"
            yield (
                f"The queue {queue.name} is paused and {runs} held back in it: "
                f"`heartbit fleet resume-queue {queue.name}` ends that."
            )
    for worker in workers:
        if worker.state == "stale":
            yield (
                f"The worker {worker.name} has been silent for {worker.beat_seconds:.0f} s: it is "
                "dead, frozen or cut off, and its runs go to others."
            )


def _rows(query: str, *values: int) -> list[dict[str, Any]]:
    return fetch_named(query, values or None)
