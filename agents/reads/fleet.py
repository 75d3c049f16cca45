"""Current state of the fleet: workers by their heartbeats, queues by their runs.

The figures cover the whole installation, not a workspace: show them to operators only.

Usage::

    fleet = read_fleet()               # five queries over live rows, however long the history
    for sentence in fleet.problems: ...
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from agents.models.pause import Pause
from agents.reads.views import (
    FleetOut,
    FleetRunOut,
    FleetTotalsOut,
    PauseOut,
    QueueOut,
    WorkerOut,
    WorkerState,
)
from heartbit_site.base.query import fetch_named
from heartbit_site.base.queues import without_worker

_WORKERS = """
    SELECT w.id, w.name, w.queues, w.slots, w.requested_action,
           EXTRACT(EPOCH FROM clock_timestamp() - w.started_at)::float AS uptime_seconds,
           EXTRACT(EPOCH FROM clock_timestamp() - w.beat_at)::float AS heartbeat_age_seconds,
           w.lease_seconds,
           (SELECT count(*) FROM agents_run r WHERE r.worker_id = w.id AND r.status = 'running')
               AS slots_used
    FROM agents_workerheartbeat w
    WHERE w.left_at IS NULL AND w.home = 'fleet' ORDER BY w.id
"""
# Only the index run_claimable is read: it has every queued run of the fleet.
_QUEUES = """
    SELECT r.queue,
           count(*) FILTER (WHERE NOT r.parked) AS depth,
           count(*) FILTER (WHERE r.parked) AS blocked,
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


def read_fleet() -> FleetOut:
    """Return the current state of the fleet."""
    at_work: dict[int, list[FleetRunOut]] = {}
    for row in _rows(_AT_WORK, SHOWN):
        at_work.setdefault(row.pop("worker"), []).append(FleetRunOut(**row))
    workers = [_worker(row, at_work.get(row["id"], [])) for row in _rows(_WORKERS)]
    pauses = [PauseOut.of(row) for row in Pause.objects.select_related("workspace")]
    queues = _queues(workers, {one.name for one in pauses if one.kind == "queue"})
    living = [worker for worker in workers if worker.state != "stale"]
    return FleetOut(
        workers=workers,
        queues=queues,
        totals=FleetTotalsOut(
            workers=len(living),
            slots=sum(worker.slots for worker in living),
            slots_used=sum(worker.slots_used for worker in living),
            queued=sum(queue.depth for queue in queues),
        ),
        pauses=pauses,
        problems=[*_standing_still(pauses), *_problems(workers, queues)],
    )


def _worker(row: dict[str, Any], runs: list[FleetRunOut]) -> WorkerOut:
    state: WorkerState = "leaving" if row["requested_action"] else "alive"
    if row["heartbeat_age_seconds"] > row.pop("lease_seconds"):
        state = "stale"
    queues = json.loads(row["queues"])
    return WorkerOut(**{**row, "queues": queues}, state=state, runs=runs)


def _queues(workers: Iterable[WorkerOut], paused: set[str]) -> list[QueueOut]:
    waiting = {row.pop("queue"): row for row in _rows(_QUEUES)}
    running = {row["queue"]: row["running"] for row in _rows(_RUNNING)}
    serving = Counter(
        name for worker in workers if worker.state == "alive" for name in worker.queues
    )
    known = {name for worker in workers for name in worker.queues} | paused
    none = {"depth": 0, "blocked": 0, "oldest_seconds": 0.0}
    return [
        QueueOut(
            name=name,
            running=running.get(name, 0),
            has_workers=serving[name] > 0,
            workers=serving[name],
            paused=name in paused,
            **waiting.get(name, none),
        )
        for name in sorted(known | waiting.keys() | running.keys())
    ]


def _standing_still(pauses: Iterable[PauseOut]) -> Iterable[str]:
    for pause in pauses:
        why = "" if pause.by_operator else ", who manages it"
        why += f" ({pause.reason})" if pause.reason else ""
        if pause.kind == "all":
            yield f"Everything was stopped by {pause.by}{why}: `heartbit fleet resume` ends that."
        elif pause.kind == "workspace":
            yield (
                f"The workspace {pause.name} was stopped by {pause.by}{why}: "
                f"`heartbit fleet resume {pause.name}` ends that."
            )
        elif pause.kind == "tool":
            place, there = "", ""
            if pause.workspace:
                place, there = f" in {pause.workspace}", f" --workspace {pause.workspace}"
            yield (
                f"The tool {pause.name} was stopped{place} by {pause.by}{why}: "
                f"`heartbit fleet enable-tool {pause.name}{there}` ends that."
            )


def _problems(workers: Iterable[WorkerOut], queues: Iterable[QueueOut]) -> Iterable[str]:
    for queue in queues:
        if queue.depth and not queue.has_workers:
            runs = "1 run waits" if queue.depth == 1 else f"{queue.depth} runs wait"
            yield f"{runs}. {without_worker(queue.name)}"
        if queue.paused:
            runs = "1 run is" if queue.blocked == 1 else f"{queue.blocked or 'no'} runs are"
            yield (
                f"The queue {queue.name} is paused and {runs} blocked in it: "
                f"`heartbit fleet resume-queue {queue.name}` ends that."
            )
    for worker in workers:
        if worker.state == "stale":
            silent = f"{worker.heartbeat_age_seconds:.0f} s"
            yield (
                f"The worker {worker.name} has been silent for {silent}: it is dead, frozen or cut "
                "off, and its runs go to others."
            )


def _rows(query: str, *values: int) -> list[dict[str, Any]]:
    return fetch_named(query, values or None)
