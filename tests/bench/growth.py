"""GROWTH: W2 with a million finished runs in the tables, beside W2 with almost none."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tests.bench import bulk
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


def measure(plan: Plan) -> Row:
    """Its row."""
    say(f"GROWTH: {plan.finished} finished runs")
    w2 = WORKLOADS["W2"]
    with (
        Crew(Posts()) as crew,
        BareModel(crew.wire.url) as model,
        InternalDurable(crew.workspace) as way,
    ):
        way.take(WORKLOADS["W1"])
        template = way.ids[0]
        empty = overhead(crew, way, model, w2, plan)
        began = time.monotonic()
        there = bulk.finished(template, count=plan.finished, seconds=plan.insert_seconds)
        bulk.settle()
        inserted = time.monotonic() - began
        say(f"GROWTH: {there} runs and their journals in {inserted:.0f} s")
        full = overhead(crew, way, model, w2, plan)
        bulk.remove(crew.workspace.pk)
        bulk.settle()
        again = overhead(crew, way, model, w2, plan)
    figures = (
        Figure("finished runs in the tables", there, "runs", plan.finished, at_least=True),
        Figure("W2 overhead, full / empty", times(empty, full, again), "x", TIMES),
    )
    also: dict[str, Any] = {
        "insert_seconds": round(inserted, 1),
        "W2_ms": {"empty": empty, "full": full, "again": again},
    }
    return Row("GROWTH", "durable", figures, also)
