"""RATE: runs a second that one worker process sustains, on a model without latency.

A closed loop keeps 64 unfinished; what ends within the window, by the database's clock, counts.
This process submits from four threads on the same machine, and is not free either.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.bench import costs, flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row
from tests.bench.flow import Job
from tests.bench.profiles import profile
from tests.bench.said import say
from tests.bench.workloads import WORKLOADS

if TYPE_CHECKING:
    from tests.bench.plan import Plan

AT_ONCE = 64
WARM_SECONDS = 2.0
GIVE_UP_SECONDS = 60
TARGETS = {"W1": 500.0, "W2": 200.0}


def measure(plan: Plan) -> list[Row]:
    """A row for each workload."""
    with Crew(Posts()) as crew:
        return [_measure(name, crew, plan) for name in TARGETS]


def _measure(name: str, crew: Crew, plan: Plan) -> Row:
    say(f"RATE: {name} in a closed loop of {AT_ONCE} for {plan.rate_seconds:g} s")
    workload = WORKLOADS[name]
    job = Job(workload.agent, workload.task)
    flow.wait_ended(
        crew.flow.loop(job, at_once=AT_ONCE, seconds=WARM_SECONDS), seconds=GIVE_UP_SECONDS
    )
    meter = costs.Meter(crew.processes)
    began = datetime.now(UTC) + timedelta(seconds=WARM_SECONDS / 2)
    ids = crew.flow.loop(job, at_once=AT_ONCE, seconds=WARM_SECONDS / 2 + plan.rate_seconds)
    ended = datetime.now(UTC)
    flow.wait_ended(ids, seconds=GIVE_UP_SECONDS)
    cpu = meter.seconds()
    seen = flow.times(ids)
    counted = sum(
        each.finished_at is not None and began <= each.finished_at <= ended for each in seen
    )
    failed = sum(each.status != "succeeded" for each in seen)
    figures = (
        Figure(
            f"{name} a second",
            counted / (ended - began).total_seconds(),
            "/s",
            TARGETS[name],
            at_least=True,
        ),
        Figure("not succeeded", failed, "runs", 0),
    )
    by_process = {group: round(value * 1000 / len(ids), 2) for group, value in cpu.items()}
    also: dict[str, Any] = {"runs": len(ids), "cpu_ms_by_process": by_process}
    row = Row("RATE", name, figures, also)
    if not row.passed and plan.profile_seconds:
        also["profile"] = profile(
            f"RATE-{name}",
            crew.workers[0].pid,
            seconds=plan.profile_seconds,
            load=lambda: crew.flow.loop(job, at_once=AT_ONCE, seconds=1),
        )
    return row
