"""W1 to W4, one at a time: all doors and both floors interleaved, then what a run costs.

Overhead is wall time minus the model's own latency on the critical path. That latency is measured
in the same interleaving, over a bare socket (``bare_model``) with the workload's first request,
while nothing else runs: 1 call for W1, 2 for W2, 10 for W3's ten messages, 4 for W4, whose members
work side by side. The same is taken from the floors, so a ratio compares like with like.
"""

from __future__ import annotations

import functools
import gc
import time
from typing import TYPE_CHECKING, Any

from tests.bench import costs
from tests.bench.figures import Figure, Row, percentile
from tests.bench.profiles import profile
from tests.bench.rig import MODEL_ALONE, Rig
from tests.bench.said import say
from tests.bench.workloads import WORKLOADS, Workload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.bench.doors import Aim, Door
    from tests.bench.floors import Way
    from tests.bench.plan import Plan

TURN = 5  # runs of one way before the next one's turn
LEAST_MS = 0.01  # of a floor's overhead, which is next to none on one loop


def measure(names: Sequence[str], plan: Plan) -> Iterator[Row]:
    """A row for each door of these workloads."""
    with Rig() as rig:
        background = _background() if plan.cost_runs else 0.0
        for name in names:
            yield from _measure(WORKLOADS[name], rig, plan, background=background)


def _measure(workload: Workload, rig: Rig, plan: Plan, *, background: float) -> Iterator[Row]:
    say(f"{workload.name}: {plan.runs} runs through each door and of each floor")
    taken = _interleaved(workload, rig.ways(workload), plan)
    commit = round(costs.commit_ms(), 2)
    counted = plan.cost_runs and workload.counted
    spent = _costs(workload, rig, plan, background) if counted else {}
    for door in rig.doors:
        if not door.takes(workload):
            continue
        also = timings(workload, door, taken) | spent.get(door.name, {})
        also |= {"commit_ms": commit, "celery_floor_lost": rig.celery.lost}
        row = Row(workload.name, door.name, figures(workload, door, taken), also)
        if not row.passed and plan.profile_seconds:
            row.also["profile"] = profile(
                f"{workload.name}-{door.name.replace(' ', '-')}",
                rig.processes(door)[0].pid,
                seconds=plan.profile_seconds,
                load=functools.partial(door.take, workload),
            )
        yield row


def _interleaved(workload: Workload, ways: Mapping[str, Way], plan: Plan) -> dict[str, list[float]]:
    """Milliseconds of each way, in turns of a few runs: load strikes all."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        _warm(way, workload, plan)
    for _ in range(-(-plan.runs // TURN)):
        for name, way in ways.items():
            taken[name] += [way.take(workload) * 1000 for _ in range(_turn(way))]
    return taken


def _turn(way: Way) -> int:
    return int(getattr(way, "turn", TURN))


def _warm(way: Way, workload: Workload, plan: Plan) -> None:
    began, times = time.monotonic(), 0
    wanted = plan.warm_up * _turn(way) // TURN
    while times < wanted or time.monotonic() - began < plan.warm_seconds:
        way.take(workload)
        times += 1


def timings(workload: Workload, door: Door, taken: Mapping[str, list[float]]) -> dict[str, Any]:
    """Wall time and overhead of a door beside the floors'; milliseconds.

    Args:
        workload: Says how many model calls are on the critical path.
        door: One of ours.
        taken: Wall milliseconds of each way, the bare model call's among them.
    """
    overhead = _overhead(workload, taken)
    floors = {name: round(overhead[name], 2) for name in ("bare asyncio", "bare Celery")}
    return {
        "p50_ms": round(percentile(taken[door.name], 0.5), 2),
        "p95_ms": round(percentile(taken[door.name], 0.95), 2),
        "model_call_ms": round(percentile(taken[MODEL_ALONE], 0.5), 3),
        "model_calls": workload.model_calls,
        "overhead_ms": round(overhead[door.name], 2),
        "floors_overhead_ms": floors,
        "runs": len(taken[door.name]),
    }


def figures(workload: Workload, door: Door, taken: Mapping[str, list[float]]) -> tuple[Figure, ...]:
    """What is compared with a target: the overhead beside that of others in the same run."""
    overhead = _overhead(workload, taken)
    aim = door.aim(workload)
    found = []
    if aim is None or aim.beside != door.floor or aim.times is None:
        found.append(_ratio(overhead, door.name, door.floor, None))
    if aim is not None:
        found.append(_aimed(overhead, door.name, aim))
    return tuple(found)


def _aimed(overhead: Mapping[str, float], name: str, aim: Aim) -> Figure:
    if aim.times is not None:
        return _ratio(overhead, name, aim.beside, aim.times)
    more = overhead[name] - overhead[aim.beside]
    return Figure(f"more than {aim.beside}", more, "ms", aim.more_ms)


def _ratio(overhead: Mapping[str, float], name: str, beside: str, target: float | None) -> Figure:
    ratio = overhead[name] / max(overhead[beside], LEAST_MS)
    return Figure(f"ratio to {beside}", ratio, "x", target)


def _overhead(workload: Workload, taken: Mapping[str, list[float]]) -> dict[str, float]:
    p50 = {name: percentile(values, 0.5) for name, values in taken.items()}
    return {name: value - workload.model_calls * p50[MODEL_ALONE] for name, value in p50.items()}


def _costs(
    workload: Workload, rig: Rig, plan: Plan, background: float
) -> dict[str, dict[str, float]]:
    """What a run costs through each door: processor, transactions, transactions that write."""
    found = {}
    committed, looked = costs.committed(), time.monotonic()
    for door in (door for door in rig.doors if door.takes(workload)):
        runs = max(1, plan.cost_runs * door.turn // TURN)
        processes = [*costs.server_processes(), *rig.processes(door)]
        gc.collect()
        written, spent = costs.write_marker(), costs.cpu_seconds(processes) + costs.cpu_of_ended()
        for _ in range(runs):
            door.take(workload)
        spent = costs.cpu_seconds(processes) + costs.cpu_of_ended() - spent
        written = costs.write_marker() - written
        now, at = costs.committed(), time.monotonic()
        found[door.name] = {
            "cpu_ms_per_run": round(spent * 1000 / runs, 2),
            "transactions_per_run": round((now - committed - background * (at - looked)) / runs, 1),
            "writing_transactions_per_run": round(written / runs, 1),
        }
        committed, looked = now, at
    return found


def _background() -> float:
    """Transactions a second that nobody's run causes: heartbeats, sweeps, this measurement."""
    committed, began = costs.committed(), time.monotonic()
    return (costs.committed() - committed) / (time.monotonic() - began)
