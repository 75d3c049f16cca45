"""One bench session: warm up, measure interleaved, then what a run costs; one row a path."""

from __future__ import annotations

import functools
import gc
import http.client
import json
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psutil

from tests.bench import costs
from tests.bench.costs import Cost
from tests.bench.profiles import profile
from tests.bench.rig import Rig
from tests.bench.workloads import WORKLOADS, PathName, Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.paths import Durable, InProcess, Path

TURN = 5  # runs of one way before the next one's turn
PATHS: tuple[PathName, ...] = ("durable", "in_process")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured.

    Attributes:
        runs: Measured runs of each path and floor.
        warm_up: Runs before them that do not count.
        cost_runs: Runs of the block that costs are measured over; 0: not measured.
        profile_seconds: How long a missed target is profiled; 0: never.
    """

    runs: int = 60
    warm_up: int = 15
    cost_runs: int = 40
    profile_seconds: float = 10


def measure(names: Sequence[str], plan: Plan) -> list[dict[str, Any]]:
    """Rows for these workloads."""
    for name, value in costs.durability().items():
        if value != "on":
            raise RuntimeError(f"{name} is {value}: such figures would mean nothing")
    rows: list[dict[str, Any]] = []
    with Rig() as rig:
        _say(f"one call of the model server {_server_ms(rig.wire.url):.2f} ms")
        background = _background() if plan.cost_runs else 0.0
        for name in names:
            rows += _measure(WORKLOADS[name], rig, plan, background=background)
    return rows


def _measure(
    workload: Workload, rig: Rig, plan: Plan, *, background: float
) -> list[dict[str, Any]]:
    _say(f"{workload.name}: {plan.warm_up} + {plan.runs} runs on each path and floor")
    ways: dict[str, Path] = {
        "asyncio": rig.paths.asyncio,
        "celery": rig.paths.celery,
        "durable": rig.paths.durable,
        "in_process": rig.paths.in_process,
    }
    taken = _interleaved(workload, ways, plan)
    commit = round(costs.commit_ms(), 2)
    rows = []
    for path in PATHS:
        row = _row(workload, path, taken) | {"commit_ms": commit}
        row["celery_floor_lost"] = rig.paths.celery.lost
        if plan.cost_runs:
            row |= _costs(workload, path, rig, runs=plan.cost_runs, background=background)
        if row["p50_ms"] > row["target_ms"] and plan.profile_seconds:
            pid = rig.worker.pid if path == "durable" else os.getpid()
            row["profile"] = profile(
                f"{workload.name}-{path}",
                pid,
                seconds=plan.profile_seconds,
                load=functools.partial(ways[path].take, workload),
            )
        rows.append(row)
    return rows


def _interleaved(workload: Workload, ways: dict[str, Path], plan: Plan) -> dict[str, list[float]]:
    """Milliseconds of each way, in turns of a few runs: load strikes all."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        for _ in range(plan.warm_up):
            way.take(workload)
    for _ in range(-(-plan.runs // TURN)):
        for name, way in ways.items():
            taken[name] += [way.take(workload) * 1000 for _ in range(TURN)]
    return taken


def _row(workload: Workload, path: PathName, taken: dict[str, list[float]]) -> dict[str, Any]:
    floor, celery_floor = (percentile(taken[name], 0.5) for name in ("asyncio", "celery"))
    p50 = percentile(taken[path], 0.5)
    target = workload.target_ms[path]
    return {
        "workload": workload.name,
        "path": path,
        "p50_ms": round(p50, 2),
        "p95_ms": round(percentile(taken[path], 0.95), 2),
        "floor_ms": round(floor, 2),
        "celery_floor_ms": round(celery_floor, 2),
        "target_ms": target,
        "cpu_ms_per_run": None,
        "rss_mb": None,
        "ratio": round(p50 / celery_floor, 2),
        "target_ratio": round(target / workload.reference, 2),
        "runs": len(taken[path]),
    }


def _costs(
    workload: Workload, path: PathName, rig: Rig, *, runs: int, background: float
) -> dict[str, Any]:
    way: Durable | InProcess = rig.paths.durable if path == "durable" else rig.paths.in_process
    runtime = rig.worker_process if path == "durable" else psutil.Process()
    cost = _block(workload, way, runtime, runs=runs, background=background)
    return {
        "cpu_ms_per_run": round(cost.cpu_ms, 2),
        "rss_mb": round(cost.rss_mb, 1),
        "transactions_per_run": round(cost.transactions, 1),
        "writing_transactions_per_run": round(cost.writing_transactions, 1),
        "target_transactions": workload.transactions.get(path),
        "rows_per_run": round(cost.rows, 1),
    }


def _block(
    workload: Workload,
    way: Durable | InProcess,
    runtime: psutil.Process,
    *,
    runs: int,
    background: float,
) -> Cost:
    committed, began = costs.committed(), time.monotonic()
    writes = costs.write_marker()
    processes = [*costs.server_processes(), runtime]
    if len(processes) < len(costs.SERVERS) + 1:
        raise RuntimeError("the servers of this installation were not found")
    gc.collect()
    way.ids.clear()
    spent = costs.cpu_seconds(processes)
    for _ in range(runs):
        way.take(workload)
    spent = costs.cpu_seconds(processes) - spent
    writes = costs.write_marker() - writes
    rss = costs.rss_mb(runtime.pid)
    committed = costs.committed() - committed
    elapsed = time.monotonic() - began
    return Cost(
        cpu_ms=spent * 1000 / runs,
        rss_mb=rss,
        transactions=(committed - background * elapsed) / runs,
        writing_transactions=writes / runs,
        rows=costs.rows(way.ids) / runs,
    )


def _background() -> float:
    """Transactions a second that nobody's run causes: heartbeats, sweeps, this measurement."""
    committed, began = costs.committed(), time.monotonic()
    return (costs.committed() - committed) / (time.monotonic() - began)


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _server_ms(url: str, *, times: int = 50) -> float:
    """What one streamed answer of the model server takes over a bare socket."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port)
    body = json.dumps({"messages": [{"role": "user", "content": "Hello."}], "stream": True})
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", body)
        connection.getresponse().read()
        taken.append(time.perf_counter() - began)
    connection.close()
    return percentile(taken, 0.5) * 1000


def _say(text: str) -> None:
    sys.stderr.write(f"bench: {text}\n")
    sys.stderr.flush()
