"""LONG: what a turn costs late in a run of a thousand turns, beside what it cost at the tenth.

A turn is the time between two ``model.answered`` of the journal, minus the model server's own time
(``bare_model``). The agent sends the last messages only, as many as there are at the tenth turn: a
request that grows costs whoever sends it. What is measured is a journal that grows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import connection

from tests.bench import calls, flow
from tests.bench.bare_model import BareModel, long_conversation
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row, percentile
from tests.bench.flow import Job
from tests.bench.profiles import profile
from tests.bench.said import say
from tests.bench.workloads import WORKER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from uuid import UUID

    from tests.bench.plan import Plan

EARLY, SPREAD = 10, 5  # turns 6 to 15, and as many before the last
TIMES = 1.5
ASKED = 30
GIVE_UP_SECONDS = 600
_CALL = "[[calls: current_time {}]]"
_GAPS = """
    SELECT turn, at - lag(at) OVER (ORDER BY turn) FROM (
        SELECT (payload ->> 'turn')::int AS turn, at FROM agents_runevent
        WHERE run_id = %s AND type = 'model.answered') answered
    ORDER BY turn
"""


def measure(plan: Plan) -> Row:
    """Its row."""
    say(f"LONG: {plan.long_runs} runs of {plan.turns} turns")
    task = f"[[rounds: {plan.turns}]] {_CALL}"
    posts = Posts(max_turns=plan.turns + 1, context={"type": "last_messages", "count": 2 * EARLY})
    with Crew(posts) as crew, BareModel(crew.wire.url) as model:
        own = _own_ms(model, task)
        gaps: list[dict[int, float]] = []
        for _ in range(plan.long_runs):
            ids = crew.flow.at_once([Job(WORKER, task)])
            flow.wait_ended(ids, seconds=GIVE_UP_SECONDS)
            gaps.append(_gaps(ids[0]))
        row = _row(plan, gaps, own)
        if not row.passed and plan.profile_seconds:
            row.also["profile"] = profile(
                "LONG",
                crew.workers[0].pid,
                seconds=sum(gaps[-1].values()) / 1000,  # one run, its late turns in their share
                load=lambda: flow.wait_ended(
                    crew.flow.at_once([Job(WORKER, task)]), seconds=GIVE_UP_SECONDS
                ),
            )
        return row


def _row(plan: Plan, gaps: Sequence[dict[int, float]], own: float) -> Row:
    early = range(EARLY - SPREAD + 1, EARLY + SPREAD + 1)
    late = range(plan.turns - 2 * SPREAD + 1, plan.turns + 1)
    wall = {
        turns: percentile([gap[turn] for gap in gaps for turn in span if turn in gap], 0.5)
        for turns, span in ((EARLY, early), (plan.turns, late))
    }
    first, last = (wall[turns] - own for turns in (EARLY, plan.turns))
    incomplete = sum(len(gap) < plan.turns for gap in gaps)
    figures = (
        Figure("runs that did not reach their turns", incomplete, "runs", 0),
        Figure(f"turn {plan.turns} / turn {EARLY}", last / first, "x", TIMES),
    )
    also: dict[str, Any] = {
        "runs": plan.long_runs,
        "turn_ms": {str(turns): round(value, 2) for turns, value in wall.items()},
        "model_call_ms": round(own, 2),
        "overhead_ms": {str(EARLY): round(first, 2), str(plan.turns): round(last, 2)},
    }
    return Row("LONG", "durable", figures, also)


def _own_ms(model: BareModel, task: str) -> float:
    """The model server's milliseconds for one turn."""
    conversation = long_conversation(task, EARLY)
    return percentile([model.ask(conversation, calls.TOOLS) * 1000 for _ in range(ASKED)], 0.5)


def _gaps(run_id: UUID) -> dict[int, float]:
    """Milliseconds from each turn's predecessor's answer to its own."""
    with connection.cursor() as cursor:
        cursor.execute(_GAPS, [run_id])
        rows: list[tuple[int, timedelta | None]] = cursor.fetchall()
    return {turn: gap.total_seconds() * 1000 for turn, gap in rows if gap is not None}
