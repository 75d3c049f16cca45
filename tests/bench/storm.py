"""W7: two hundred W4 at once on a model that takes half a second, two worker processes.

* Wall: from the first submission to the last ``finished_at``, by the database's clock.
* CPU a run: both workers, PostgreSQL with its children, Valkey, and what this process spends while
  it submits; not the model server, and not this process's looking.
* Memory: the most that was ever resident in a worker (VmHWM).

The workers have been through a storm before the one that is measured, as a fleet that has been up
for more than a minute. What the model server spends tells how fast the processor is meanwhile: its
work is the same whoever asks, and is printed beside.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.bench import costs, flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row
from tests.bench.flow import Job
from tests.bench.profiles import SELDOM, profile
from tests.bench.said import say
from tests.bench.workloads import LEAD, WORKLOADS

if TYPE_CHECKING:
    from datetime import timedelta
    from uuid import UUID

    from tests.bench.plan import Plan

WORKERS = 2
SLOTS = 400
GIVE_UP_SECONDS = 180
WALL_SECONDS = 8.0
CPU_MS = 38.0
RSS_MB = 180.0
JOB = Job(LEAD, WORKLOADS["W4"].task)


@dataclass(frozen=True, slots=True)
class Storm:
    """One storm's outcome."""

    wall_seconds: float
    lost: int
    cpu_seconds: dict[str, float]


def measure(plan: Plan) -> Row:
    """Its row."""
    say(f"W7: {plan.storm_runs} x W4 at once, {plan.storm_latency_ms:g} ms a model call")
    posts = Posts(workers=WORKERS, slots=SLOTS, latency_ms=plan.storm_latency_ms)
    with Crew(posts) as crew:
        blow(crew, plan.storm_runs)  # every connection is open then, every thread there
        storm = blow(crew, plan.storm_runs)
        rss = max(costs.peak_rss_mb(worker.pid) for worker in crew.workers)
        cpu_ms = {name: value * 1000 / plan.storm_runs for name, value in storm.cpu_seconds.items()}
        model = cpu_ms.pop("model server")
        figures = (
            Figure("lost", storm.lost, "runs", 0),
            Figure("wall", storm.wall_seconds, "s", WALL_SECONDS),
            Figure("CPU a run", sum(cpu_ms.values()), "ms", CPU_MS),
            Figure("peak RSS of a worker", rss, "MB", RSS_MB),
        )
        also: dict[str, Any] = {
            "runs": plan.storm_runs,
            "cpu_ms_by_process": {name: round(value, 1) for name, value in cpu_ms.items()},
            "model_server_cpu_ms_per_run": round(model, 1),
            "model_calls_at_once": crew.wire.stats()["peak_in_flight"],
        }
        row = Row("W7", "durable", figures, also)
        if not row.passed and plan.profile_seconds:
            also["profile"] = _profiled(crew, plan)
        return row


def blow(crew: Crew, runs: int) -> Storm:
    """Submit so many at once and wait for their ends."""
    model_server = [crew.model_server]
    before = costs.cpu_seconds(model_server)
    meter = costs.Meter(crew.processes)
    submitting = time.process_time()
    ids = crew.flow.at_once([JOB] * runs)
    submitting = time.process_time() - submitting
    flow.wait_ended(ids, seconds=GIVE_UP_SECONDS)
    spent = meter.seconds() | {"submitting": submitting}
    spent["model server"] = costs.cpu_seconds(model_server) - before
    return Storm(wall_seconds(ids), lost(ids), spent)


def wall_seconds(ids: list[UUID]) -> float:
    """From the first acceptance to the last end; NaN while some have none."""
    seen = flow.times(ids)
    ends = [each.finished_at for each in seen if each.finished_at is not None]
    if len(ends) < len(ids):
        return float("nan")
    wall: timedelta = max(ends) - seen[0].created_at
    return wall.total_seconds()


def lost(ids: list[UUID]) -> int:
    """How many did not succeed."""
    return len(ids) - sum(each.status == "succeeded" for each in flow.times(ids))


def _profiled(crew: Crew, plan: Plan) -> str:
    """Where one worker's time goes during another storm."""
    over = threading.Event()

    def load() -> None:
        if not over.is_set():
            say("W7: once more, under the profiler")
            blow(crew, plan.storm_runs)
            over.set()
        time.sleep(0.1)

    pid = crew.workers[0].pid
    return profile("W7", pid, seconds=plan.profile_seconds, load=load, rate=SELDOM)
