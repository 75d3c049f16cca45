"""W8: W7, and a worker is killed (SIGKILL) at 40 % of the model calls.

Once with a worker that is alone and started again at once, once with two, of which the other one
goes on. Nobody resumes anything. The members' tools are of the default effect class, and each body
appends a line to an outside ledger when it begins: a call that had begun and has no result is in
doubt, and its run waits for a person. What was repeated is judged from the ledgers (``repeats``).
"""

from __future__ import annotations

import json
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import connection

from agents.choices import CallStatus
from agents.models import ToolCall
from tests.bench import flow
from tests.bench.crew import Crew, Posts, ledgers
from tests.bench.figures import Figure, Row, percentile
from tests.bench.flow import Job
from tests.bench.repeats import Begun, Evidence, Repeats, judge
from tests.bench.said import say
from tests.bench.storm import GIVE_UP_SECONDS, SLOTS
from tests.bench.toolbox.agent_tools import LEDGER
from tests.bench.workloads import LEAD, LEAD_CALLS, MEMBERS, delegated, two_turns
from tests.chaos.records import read_asked
from tests.fleet import wait_until

if TYPE_CHECKING:
    from uuid import UUID

    from tests.bench.plan import Plan

WARM_UP = 60  # at once: every connection is open then, every thread there
KILL_AT = 0.4
DONE_SECONDS = 8.0
REPEATED = 1.2  # times the model calls that were cut off
MORE_IN_DOUBT = 2  # than bodies begun just before the kill
QUIET_SECONDS = 3.0  # without another end: whatever is left waits for a person
_ANSWERED = """
    SELECT r.task, (e.payload ->> 'turn')::int, extract(epoch FROM min(e.at))::float
    FROM agents_run r JOIN agents_runevent e ON e.run_id = r.id AND e.type = 'model.answered'
    WHERE r.root_id = ANY (%s) GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class _Kill:
    at: float
    pid: int
    ended: int


def measure(plan: Plan) -> list[Row]:
    """Its rows."""
    return [_measure(plan, workers) for workers in (1, 2)]


def _measure(plan: Plan, workers: int) -> Row:
    say(f"W8: {plan.storm_runs} x W4 at once, one of {workers} workers killed")
    with ExitStack() as stack:
        name = stack.enter_context(tempfile.TemporaryDirectory(prefix="hb", dir=ledgers()))
        asked, begun = Path(name) / "model.jsonl", Path(name) / "begun.jsonl"
        begun.touch()
        posts = Posts(
            workers=workers,
            slots=SLOTS,
            latency_ms=plan.storm_latency_ms,
            ledger=asked,
            environment={LEDGER: str(begun)},
        )
        crew = stack.enter_context(Crew(posts))
        warm = [Job(LEAD, task(f"warm-{number}")) for number in range(WARM_UP)]
        flow.wait_ended(crew.flow.at_once(warm), seconds=GIVE_UP_SECONDS)
        for ledger in (asked, begun):
            ledger.write_bytes(b"")  # both are appended to, wherever their ends are
        lost_before = crew.wire.stats()["disconnected"]
        jobs = [Job(LEAD, task(f"w8-{number}")) for number in range(plan.storm_runs)]
        ids = crew.flow.at_once(jobs)
        kill = _kill(crew, ids, asked)
        if workers == 1:
            crew.workers[0].start()
        _wait_settled(ids)
        bodies = _begun(begun)
        evidence = Evidence(read_asked(asked), _answered(ids), bodies)
        repeats = judge(evidence, killed_at=kill.at, pid=kill.pid)
        cut_off = crew.wire.stats()["disconnected"] - lost_before
        return _row(ids, kill, repeats, begun=bodies, cut_off=cut_off, path=PATHS[workers])


PATHS = {1: "one that restarts", 2: "one of two"}


def _kill(crew: Crew, ids: list[UUID], asked: Path) -> _Kill:
    """Kill the first worker once the model was asked so often."""
    calls = KILL_AT * len(ids) * LEAD_CALLS
    wait_until(
        lambda: asked.read_bytes().count(b"\n") >= calls,
        seconds=GIVE_UP_SECONDS,
        what=f"{calls:g} model calls",
    )
    victim = crew.workers[0]
    at = time.time()
    victim.kill()
    ended = len(ids) - len(flow.unfinished(ids))
    say(f"W8: killed a worker; {ended} of {len(ids)} had ended")
    return _Kill(at, victim.pid, ended)


def _wait_settled(ids: list[UUID]) -> None:
    """Wait until all have ended, or all that are left are in doubt and nothing happens."""
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while time.monotonic() < deadline:
        left = set(flow.unfinished(ids))
        if left <= {root for root, _ in _in_doubt(ids)}:
            time.sleep(QUIET_SECONDS)
            if left == set(flow.unfinished(ids)):
                return
        time.sleep(flow.POLL_SECONDS)


def _in_doubt(ids: list[UUID]) -> list[tuple[UUID, str]]:
    """Calls in doubt: the root of their run, and the ``op`` that their body writes down."""
    calls = ToolCall.objects.filter(run__root__in=ids, status=CallStatus.UNCERTAIN)
    return [
        (root, f"{tool} {json.loads(arguments)['about']}")
        for root, tool, arguments in calls.values_list("run__root", "tool", "arguments")
    ]


def _row(
    ids: list[UUID], kill: _Kill, repeats: Repeats, *, begun: list[Begun], cut_off: int, path: str
) -> Row:
    calls = _in_doubt(ids)
    doubtful = {root for root, _ in calls}
    began = {body.op: body.at for body in begun}
    ages = [(kill.at - began[op]) * 1000 for _, op in calls if op in began]
    others = [each for each in flow.times(ids) if each.id not in doubtful]
    ends = [each.finished_at for each in others if each.finished_at is not None]
    after = max(end.timestamp() for end in ends) - kill.at if len(ends) == len(others) else None
    lost = len(others) - sum(each.status == "succeeded" for each in others)
    allowed = repeats.recent + MORE_IN_DOUBT
    figures = (
        Figure("lost", lost, "runs", 0),
        Figure("tool effects repeated", repeats.effects, "effects", 0),
        Figure("model calls repeated after their answer", repeats.answered_again, "calls", 0),
        Figure(
            f"model calls repeated beyond {REPEATED} x those cut off",
            max(0, repeats.model_calls - REPEATED * cut_off),
            "calls",
            0,
        ),
        Figure(
            f"calls in doubt beyond those begun just before + {MORE_IN_DOUBT}",
            max(0, len(calls) - allowed),
            "calls",
            0,
        ),
        Figure(
            "all others done after the kill",
            float("nan") if after is None else after,
            "s",
            DONE_SECONDS,
        ),
    )
    also: dict[str, Any] = {
        "runs": len(ids),
        "ended_at_kill": kill.ended,
        "model_calls_repeated": repeats.model_calls,
        "model_calls_cut_off": cut_off,
        "calls_in_doubt": len(calls),
        "calls_in_doubt_whose_body_began": len(ages),
        "their_ms_before_the_kill": {
            name: round(percentile(ages, share)) if ages else None
            for name, share in (("p50", 0.5), ("p95", 0.95))
        },
        "bodies_begun": len(begun),
        "runs_in_doubt": len(doubtful),
        "bodies_begun_just_before": repeats.recent,
    }
    return Row("W8", path, figures, also)


def _answered(ids: list[UUID]) -> dict[tuple[str, int], float]:
    with connection.cursor() as cursor:
        cursor.execute(_ANSWERED, [ids])
        return {(name_of(task), turn): at for task, turn, at in cursor.fetchall()}


def _begun(ledger: Path) -> list[Begun]:
    return [Begun(**json.loads(line)) for line in ledger.read_text().splitlines()]


def task(name: str) -> str:
    """W4 whose conversations and calls have names of their own."""
    tasks = {each: f"[[run: {name}/{each}]] {two_turns(f'{name}/{each}')}" for each in MEMBERS}
    return f"[[run: {name}]] {delegated(tasks)}"


def name_of(task: str) -> str:
    """The name of a task's conversation, which it begins with."""
    return task.removeprefix("[[run: ").partition("]]")[0]
