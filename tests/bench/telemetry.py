"""TELEMETRY: the processor time that the export of traces adds to runs.

Two workers stand side by side, of which one exports to a receiver, a process of its own. They are
loaded in turn, in short blocks, so that the drift of a shared machine falls on both. The time of a
block is the worker's and the servers', until what it has to export has been sent.
"""

from __future__ import annotations

import time
from statistics import median
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
AT_ONCE = 16
#: Of neighbouring blocks, one of each; first by turns.
ORDER = ("off", "on", "on", "off") * 4
#: A batch of spans leaves after so long; by default it is five times that, so batches are larger.
BATCH_SECONDS = 1.0
SETTLED_SECONDS = 1.5
GIVE_UP_SECONDS = 60
#: Of a run: its time in the queue, slice, model calls, tool calls, and the run itself.
SPANS = {"W1": 4, "W2": 7}


def measure(plan: Plan) -> list[Row]:
    """A row for each workload."""
    with ServerProcess("tests.monitoring.collector") as receiver:
        exporting = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url,
            "OTEL_BSP_SCHEDULE_DELAY": str(int(BATCH_SECONDS * 1000)),
        }
        with Crew(Posts()) as off, Crew(Posts(environment=exporting)) as on:
            return [_measure(name, {"off": off, "on": on}, receiver.url, plan) for name in SPANS]


def _measure(name: str, crews: dict[str, Crew], receiver: str, plan: Plan) -> Row:
    say(f"TELEMETRY: {name} without and with export, in turn")
    seconds = plan.telemetry_seconds
    for crew in crews.values():
        _load(name, crew, seconds / 2)
    time.sleep(SETTLED_SECONDS)
    before = _received(receiver)
    blocks: dict[str, list[dict[str, float]]] = {way: [] for way in crews}
    runs = dict.fromkeys(crews, 0)
    failed = 0
    for way in ORDER:
        meter = costs.Meter(crews[way].processes)
        ids = _load(name, crews[way], seconds)
        time.sleep(SETTLED_SECONDS)
        spent = meter.seconds()
        blocks[way].append({each: cpu * 1000 / len(ids) for each, cpu in spent.items()})
        runs[way] += len(ids)
        failed += sum(each.status != "succeeded" for each in flow.times(ids))
    lost = runs["on"] * SPANS[name] - (_received(receiver) - before)
    ms = {way: [sum(block.values()) for block in found] for way, found in blocks.items()}
    ratios = [on / off for on, off in zip(ms["on"], ms["off"], strict=True)]
    return Row(
        "TELEMETRY",
        name,
        (
            Figure("telemetry: cpu on/off ratio", median(ratios), "x", RATIO),
            Figure("CPU of a run, off", median(ms["off"])),
            Figure("CPU of a run, on", median(ms["on"])),
            Figure("spans lost", lost, "spans", 0),
            Figure("not succeeded", failed, "runs", 0),
        ),
        {
            "runs": runs,
            "ratios": " ".join(f"{ratio:.2f}" for ratio in ratios),
            "cpu_ms_by_process": {
                way: {each: round(median(b[each] for b in found), 3) for each in found[0]}
                for way, found in blocks.items()
            },
        },
    )


def _load(name: str, crew: Crew, seconds: float) -> list[UUID]:
    workload = WORKLOADS[name]
    ids = crew.flow.loop(Job(workload.agent, workload.task), at_once=AT_ONCE, seconds=seconds)
    flow.wait_ended(ids, seconds=GIVE_UP_SECONDS)
    return ids


def _received(receiver: str) -> int:
    return int(httpx.get(f"{receiver}/count", trust_env=False).text)
