"""W1 to W4, one at a time: both paths and both floors interleaved, then what a run costs.

Overhead is wall time minus the model's own latency on the critical path. That latency is measured
in the same interleaving, over a bare socket (``bare_model``) with the workload's first request,
while nothing else runs: 1 call for W1, 2 for W2, 10 for W3's ten messages, 4 for W4, whose members
work side by side. The same is taken from the floors, so ``ratio`` compares like with like.

Targets are of the overhead, and were set where bare Celery took ``Workload.reference``. Where it
takes longer in the same run, the machine is slower by that much, and so may we be; where it takes
less, the milliseconds hold.
"""

from __future__ import annotations

import functools
import gc
import os
import time
from typing import TYPE_CHECKING, Any

import psutil

from tests.bench import costs
from tests.bench.costs import Cost
from tests.bench.figures import Figure, Row, percentile
from tests.bench.profiles import profile
from tests.bench.rig import Rig
from tests.bench.said import say
from tests.bench.workloads import WORKLOADS, PathName, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.bench.paths import Durable, InProcess, Path
    from tests.bench.plan import Plan

TURN = 5  # runs of one way before the next one's turn
PATHS: tuple[PathName, ...] = ("durable", "in_process")


def measure(names: Sequence[str], plan: Plan) -> Iterator[Row]:
    """A row for each path of these workloads."""
    with Rig() as rig:
        background = _background() if plan.cost_runs else 0.0
        for name in names:
            yield from _measure(WORKLOADS[name], rig, plan, background=background)


def _measure(workload: Workload, rig: Rig, plan: Plan, *, background: float) -> list[Row]:
    say(f"{workload.name}: {plan.warm_up} + {plan.runs} runs on each path and floor")
    ways: dict[str, Path] = {
        "model": rig.paths.model,
        "asyncio": rig.paths.asyncio,
        "celery": rig.paths.celery,
        "durable": rig.paths.durable,
        "in_process": rig.paths.in_process,
    }
    taken = _interleaved(workload, ways, plan)
    commit = round(costs.commit_ms(), 2)
    rows = []
    for path in PATHS:
        also = timings(workload, path, taken) | {"commit_ms": commit}
        also["celery_floor_lost"] = rig.paths.celery.lost
        if plan.cost_runs:
            also |= _costs(workload, path, rig, runs=plan.cost_runs, background=background)
        if also["overhead_ms"] > also["target_here_ms"] and plan.profile_seconds:
            pid = rig.worker.pid if path == "durable" else os.getpid()
            also["profile"] = profile(
                f"{workload.name}-{path}",
                pid,
                seconds=plan.profile_seconds,
                load=functools.partial(ways[path].take, workload),
            )
        rows.append(Row(workload.name, path, figures(workload, path, also), also))
    return rows


def _interleaved(workload: Workload, ways: dict[str, Path], plan: Plan) -> dict[str, list[float]]:
    """Milliseconds of each way, in turns of a few runs: load strikes all."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        _warm(way, workload, plan)
    for _ in range(-(-plan.runs // TURN)):
        for name, way in ways.items():
            taken[name] += [way.take(workload) * 1000 for _ in range(TURN)]
    return taken


def _warm(way: Path, workload: Workload, plan: Plan) -> None:
    began, times = time.monotonic(), 0
    while times < plan.warm_up or time.monotonic() - began < plan.warm_seconds:
        way.take(workload)
        times += 1


def timings(workload: Workload, path: PathName, taken: dict[str, list[float]]) -> dict[str, Any]:
    """Wall time and overhead of a path beside the floors'; milliseconds.

    Args:
        workload: Says how many model calls are on the critical path.
        path: Which of ours.
        taken: Wall milliseconds of each way, the bare model call's among them.
    """
    p50 = {name: percentile(values, 0.5) for name, values in taken.items()}
    model = workload.model_calls * p50["model"]
    overhead = {name: value - model for name, value in p50.items()}
    slower = max(1.0, overhead["celery"] / workload.reference)
    return {
        "p50_ms": round(p50[path], 2),
        "p95_ms": round(percentile(taken[path], 0.95), 2),
        "model_call_ms": round(p50["model"], 3),
        "model_calls": workload.model_calls,
        "overhead_ms": round(overhead[path], 2),
        "target_ms": workload.target_ms[path],
        "target_here_ms": round(workload.target_ms[path] * slower, 2),
        "floor_ms": round(p50["asyncio"], 2),
        "floor_overhead_ms": round(overhead["asyncio"], 2),
        "celery_floor_ms": round(p50["celery"], 2),
        "celery_floor_overhead_ms": round(overhead["celery"], 2),
        "ratio": round(overhead[path] / overhead["celery"], 2),
        "target_ratio": round(workload.target_ms[path] / workload.reference, 2),
        "cpu_ms_per_run": None,
        "rss_mb": None,
        "runs": len(taken[path]),
    }


def figures(workload: Workload, path: PathName, also: dict[str, Any]) -> tuple[Figure, ...]:
    """What is compared with a target."""
    found = [Figure("overhead p50", also["overhead_ms"], target=also["target_here_ms"])]
    transactions = also.get("transactions_per_run")
    if transactions is not None:
        # A run makes a whole number of them; the rest are heartbeats that came at another pace
        # than in the background's measurement.
        found.append(
            Figure(
                "transactions a run",
                round(transactions),
                unit="",
                target=workload.transactions.get(path),
            )
        )
    return tuple(found)


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
