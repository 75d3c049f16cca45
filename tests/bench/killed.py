"""W8: W7, and one of the two workers is killed (SIGKILL) when 40 % of the runs have ended.

Nobody starts another one and nobody resumes anything: the one that is left goes on. Each member of
a run calls ``current_time`` and ``store_item``, whose effect an effects server writes down and
never deduplicates. What was repeated is judged from the ledgers and the journals (``repeats``).
"""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.choices import RunStatus
from agents.models import Run
from tests.bench import evidence, flow
from tests.bench.crew import Crew, Posts, ledgers
from tests.bench.figures import Figure, Row
from tests.bench.flow import Job
from tests.bench.repeats import Repeats, judge
from tests.bench.said import say
from tests.bench.storm import GIVE_UP_SECONDS, SLOTS, WORKERS, lost
from tests.bench.workloads import LEAD, MEMBERS
from tests.chaos.processes import EffectsServer
from tests.chaos.toolbox import agent_tools
from tools.registry import registry

if TYPE_CHECKING:
    from uuid import UUID

    from tests.bench.plan import Plan

WARM_UP = 60  # at once: every connection is open then, every thread there
KILL_AT = 0.4
DONE_SECONDS = 10.0
TOOLS = ("current_time", "store_item")


@dataclass(frozen=True, slots=True)
class _Kill:
    at: datetime
    held: tuple[UUID, ...]
    ended: int


def measure(plan: Plan) -> Row:
    """Its row."""
    say(f"W8: {plan.storm_runs} x W4 at once, one of two workers killed")
    registry.discover([agent_tools])
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="hb", dir=ledgers()))
        directory = Path(name)
        effects = stack.enter_context(EffectsServer(ledger=directory / "effects.jsonl"))
        posts = Posts(
            workers=WORKERS,
            slots=SLOTS,
            latency_ms=plan.storm_latency_ms,
            ledger=directory / "model.jsonl",
            environment={
                "CHAOS_EFFECTS_URL": effects.url,
                "HEARTBIT_EXTRA_APPS": agent_tools.__package__ or "",
                "HEARTBIT_HTTP_ALLOWLIST": effects.url.removeprefix("http://"),
            },
            tools=TOOLS,
        )
        crew = stack.enter_context(Crew(posts))
        warm = [Job(LEAD, task(f"warm-{number}")) for number in range(WARM_UP)]
        flow.wait_ended(crew.flow.at_once(warm), seconds=GIVE_UP_SECONDS)
        ids = crew.flow.at_once(
            [Job(LEAD, task(f"w8-{number}")) for number in range(plan.storm_runs)]
        )
        kill = _kill(crew, ids)
        flow.wait_ended(ids, seconds=GIVE_UP_SECONDS)
        repeats = judge(evidence.collect(ids, kill.held, directory), killed_at=kill.at)
        return _row(ids, kill, repeats)


def _kill(crew: Crew, ids: list[UUID]) -> _Kill:
    """Kill the first worker once enough have ended.

    Raises:
        RuntimeError: It held nothing then, so the kill proves nothing.
    """
    flow.wait_ended(ids, seconds=GIVE_UP_SECONDS, until=int(len(ids) * (1 - KILL_AT)))
    victim = crew.workers[0]
    at = datetime.now(UTC)
    victim.kill()
    mine = Run.objects.filter(status=RunStatus.RUNNING, worker__name__endswith=f":{victim.pid}")
    held = tuple(mine.values_list("pk", flat=True))
    if not held:
        raise RuntimeError("the killed worker held no run: the kill proves nothing, run it again")
    ended = len(ids) - len(flow.unfinished(ids))
    say(f"W8: killed a worker with {len(held)} runs; {ended} of {len(ids)} had ended")
    return _Kill(at, held, ended)


def _row(ids: list[UUID], kill: _Kill, repeats: Repeats) -> Row:
    ends = [each.finished_at for each in flow.times(ids) if each.finished_at is not None]
    after = (max(ends) - kill.at).total_seconds() if len(ends) == len(ids) else float("nan")
    figures = (
        Figure("lost", lost(ids), "runs", 0),
        Figure("model calls repeated", repeats.model_calls, "calls", repeats.in_flight),
        Figure("model calls repeated after their answer", repeats.answered_again, "calls", 0),
        Figure("tool effects repeated", repeats.effects, "effects", 0),
        Figure("all done after the kill", after, "s", DONE_SECONDS),
    )
    also: dict[str, Any] = {
        "runs": len(ids),
        "ended_at_kill": kill.ended,
        "runs_held_at_kill": len(kill.held),
        "model_calls_in_flight_at_kill": repeats.in_flight,
        "effects_seen": repeats.effects_seen,
        "effects_asked_again_with_their_key": repeats.effects_asked_again,
    }
    return Row("W8", "durable", figures, also)


def task(name: str) -> str:
    """W4 whose conversations and effects have names of their own."""
    tasks = []
    for member in MEMBERS:
        item = json.dumps({"op": f"{name}/{member}"})
        script = f"[[run: {name}/{member}]] [[calls: current_time {{}}, store_item {item}]]"
        tasks.append(json.dumps({"agent": member, "task": script}))
    return f"[[run: {name}]] [[delegate: {', '.join(tasks)}]]"
