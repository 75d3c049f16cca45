"""A workload's p50 with empty tables, with full ones, and with empty ones again.

The machine drifts within minutes; the mean of the first and the last is what it would have been in
the middle. ``commit`` shows how the disk was at each time: where it differs, measure again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.bench import costs
from tests.bench.figures import percentile

if TYPE_CHECKING:
    from tests.bench.bare_model import BareModel
    from tests.bench.crew import Crew
    from tests.bench.doors.internal_durable import InternalDurable
    from tests.bench.plan import Plan
    from tests.bench.workloads import Workload

MORE = 3  # times as many runs as elsewhere: two moments are compared, not interleaved


def times(empty: dict[str, float], full: dict[str, float], again: dict[str, float]) -> float:
    """How many times as much overhead there is with full tables."""
    return 2 * full["overhead"] / (empty["overhead"] + again["overhead"])


def overhead(
    crew: Crew, way: InternalDurable, model: BareModel, workload: Workload, plan: Plan
) -> dict[str, float]:
    """The p50 of a workload on a path; milliseconds.

    Returns:
        ``p50``, ``overhead`` (without the model's own time), ``cpu`` (a run's, of worker and
        servers), and ``commit``: how the disk was.
    """
    for _ in range(plan.warm_up):
        way.take(workload)
    taken, asked = [], []
    meter = costs.Meter(crew.processes)
    for _ in range(MORE * plan.runs):
        taken.append(way.take(workload) * 1000)
        asked.append(model.take(workload) * 1000)
    cpu = sum(meter.seconds().values()) * 1000 / len(taken)
    p50 = percentile(taken, 0.5)
    own = workload.model_calls * percentile(asked, 0.5)
    found = {"p50": p50, "overhead": p50 - own, "cpu": cpu, "commit": costs.commit_ms()}
    return {name: round(value, 2) for name, value in found.items()}
