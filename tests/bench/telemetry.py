"""TELEMETRY: the processor time that the export of traces adds to runs.

Two workers stand side by side, of which one exports to a receiver, a process of its own. They get
as many runs each, at the same time, so that whatever else a shared machine does falls on both. What
the servers do counts for each run alike: the export asks for a hundred journals in one query.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import httpx

from tests.bench import costs, flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row
from tests.bench.flow import Job
from tests.bench.said import say
from tests.bench.workloads import WORKLOADS
from tests.server_process import ServerProcess

if TYPE_CHECKING:
    from uuid import UUID

    from tests.bench.plan import Plan

RATIO = 1.05
AT_ONCE = 8
#: A batch of spans leaves after five seconds.
SETTLED_SECONDS = 6.0
GIVE_UP_SECONDS = 60
#: Of a run: its time in the queue, slice, model calls, tool calls, and the run itself.
SPANS = {"W1": 4, "W2": 7}


def measure(plan: Plan) -> list[Row]:
    """A row for each workload."""
    with ServerProcess("tests.monitoring.collector") as receiver:
        exporting = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
        with Crew(Posts()) as off, Crew(Posts(environment=exporting)) as on:
            return [_measure(name, {"off": off, "on": on}, receiver.url, plan) for name in SPANS]


def _measure(name: str, crews: dict[str, Crew], receiver: str, plan: Plan) -> Row:
    say(f"TELEMETRY: {name} without and with export, side by side")
    _load(name, crews, runs=plan.telemetry_runs // 10)
    time.sleep(SETTLED_SECONDS)
    before = _received(receiver)
    meters = {way: costs.Meter(crew.processes) for way, crew in crews.items()}
    ids = _load(name, crews, runs=plan.telemetry_runs)
    time.sleep(SETTLED_SECONDS)
    spent = {way: meter.seconds() for way, meter in meters.items()}
    runs = len(ids) // 2
    servers = sum(spent["on"].values()) - spent["on"]["workers"]
    ms = {way: (spent[way]["workers"] + servers / 2) * 1000 / runs for way in crews}
    failed = sum(each.status != "succeeded" for each in flow.times(ids))
    return Row(
        "TELEMETRY",
        name,
        (
            Figure("telemetry: cpu on/off ratio", ms["on"] / ms["off"], "x", RATIO),
            Figure("CPU of a run, off", ms["off"]),
            Figure("CPU of a run, on", ms["on"]),
            Figure("spans lost", runs * SPANS[name] - _received(receiver) + before, "spans", 0),
            Figure("not succeeded", failed, "runs", 0),
        ),
        {
            "runs": runs,
            "worker_ms": {way: round(spent[way]["workers"] * 1000 / runs, 3) for way in crews},
            "servers_ms": round(servers * 1000 / len(ids), 3),
        },
    )


def _load(name: str, crews: dict[str, Crew], *, runs: int) -> list[UUID]:
    """Have both crews do so many runs each, some at once, and return all of them."""
    workload = WORKLOADS[name]
    jobs = [Job(workload.agent, workload.task)] * AT_ONCE
    ids: list[UUID] = []
    while len(ids) < 2 * runs:
        some = [run for crew in crews.values() for run in crew.flow.at_once(jobs)]
        flow.wait_ended(some, seconds=GIVE_UP_SECONDS)
        ids += some
    return ids


def _received(receiver: str) -> int:
    return int(httpx.get(f"{receiver}/count", trust_env=False).text)
