"""WAITING: a hundred thousand waiting runs cost no process anything.

One idle worker and the servers: their processor time without and with the rows, the least of three
spells (autovacuum comes when it likes, and only adds), and W1's p50. The waits are timers of
tomorrow, which a sweep might have to look through.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.bench import bulk, costs
from tests.bench.bare_model import BareModel
from tests.bench.crew import Crew, Posts
from tests.bench.doors.internal_durable import InternalDurable
from tests.bench.figures import Figure, Row
from tests.bench.said import say
from tests.bench.steady import overhead, times
from tests.bench.workloads import WORKLOADS

if TYPE_CHECKING:
    from tests.bench.plan import Plan

TIMES = 1.2
#: Of a processor, in milliseconds a second: less than one sweep more would cost.
IDLE_MS = 3.0
RSS_MB = 5.0
SPELLS = 3


def measure(plan: Plan) -> Row:
    """Its row."""
    say(f"WAITING: {plan.waiting} waiting runs")
    with (
        Crew(Posts()) as crew,
        BareModel(crew.wire.url) as model,
        InternalDurable(crew.workspace) as way,
    ):
        w1 = WORKLOADS["W1"]
        empty = overhead(crew, way, model, w1, plan)
        idle_before, rss_before = _idle(crew, plan), costs.rss_mb(crew.workers[0].pid)
        began = time.monotonic()
        bulk.waiting(way.ids[0], count=plan.waiting)
        bulk.settle()
        inserted = time.monotonic() - began
        idle_after, rss_after = _idle(crew, plan), costs.rss_mb(crew.workers[0].pid)
        full = overhead(crew, way, model, w1, plan)
        bulk.remove(crew.workspace.pk)
        bulk.settle()
        again = overhead(crew, way, model, w1, plan)
    figures = (
        Figure("W1 overhead, full / empty", times(empty, full, again), "x", TIMES),
        Figure(
            "idle processor time added",
            sum(idle_after.values()) - sum(idle_before.values()),
            "ms/s",
            IDLE_MS,
        ),
        Figure("RSS added to the worker", rss_after - rss_before, "MB", RSS_MB),
    )
    also: dict[str, Any] = {
        "rows": plan.waiting,
        "insert_seconds": round(inserted, 1),
        "W1_ms": {"empty": empty, "full": full, "again": again},
        "idle_ms_per_second": {"before": idle_before, "after": idle_after},
    }
    return Row("WAITING", "durable", figures, also)


def _idle(crew: Crew, plan: Plan) -> dict[str, float]:
    """Milliseconds of a processor that each group of processes takes a second, doing nothing."""
    return min((_spell(crew, plan) for _ in range(SPELLS)), key=lambda spell: sum(spell.values()))


def _spell(crew: Crew, plan: Plan) -> dict[str, float]:
    meter = costs.Meter(crew.processes)
    time.sleep(plan.idle_seconds)
    return {
        name: round(value * 1000 / plan.idle_seconds, 2) for name, value in meter.seconds().items()
    }
