"""R28: workers are killed under one run that handles a thousand entries, twice over.

One list is handled by runs of an agent, the other by calls of a function, each within a window.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.conf import settings

from agents.models import Run, RunEvent
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.rig import rig
from tests.chaos.workflow_kills import definitions
from tests.chaos.workflow_kills.definitions import CROWD
from tests.chaos.workflow_kills.judge import outside
from tests.chaos.workflow_kills.measures import repeated_requests, windows
from tests.chaos.workflow_kills.trips import Killer
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from tests.chaos import records
    from tests.chaos.records import Kill, Records

LATENCY_MS: Final = 400.0


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        entries: Entries of each list.
        window: Most that are under way at once, of each list.
        every: Seconds between two kills.
        kills: So many have to hit the run or one of its children.
        most: Most kills; what is left then ends in peace.
    """

    entries: int
    window: int
    every: float
    kills: int
    most: int


SIZES = {
    "small": Size(24, 4, every=0.7, kills=1, most=2),
    "full": Size(1_000, 20, every=2.0, kills=5, most=30),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Let a run handle its entries, kill, and count."""
    how, name = SIZES[size], f"r28-{seed}-"
    with rig(directory, model_ms=LATENCY_MS, effect_ms=LATENCY_MS) as on:
        definitions.publish(on.workspace, definitions.crowd(how.window), queue=on.queue)
        killer = Killer(on, seed=seed, every=how.every, most=how.most)
        numbers = list(range(how.entries))
        logs = [f"{name}/log/{number}" for number in numbers]
        task = json.dumps({"name": name, "numbers": numbers, "logs": logs})
        began = time.monotonic()
        run_id = start_run(on.workspace, task, agent=CROWD)
        _wait(run_id, killer)
        took = time.monotonic() - began
    ids = Run.objects.filter(root=run_id).values_list("pk", flat=True)
    left = on.collect(list(ids), kills=killer.kills)
    return _judged(left, Run.objects.get(pk=run_id), name, how, seed, took)


def _wait(run_id: UUID, killer: Killer) -> None:
    """Kill until the run has ended, or nothing has happened for two leases and a while."""
    quiet = 2 * settings.HEARTBIT_LEASE_SECONDS + 30
    until, seen = time.monotonic() + quiet, 0
    while time.monotonic() < until and not Run.objects.get(pk=run_id).finished_at:
        events = RunEvent.objects.filter(run=run_id).count()
        if events != seen:
            seen, until = events, time.monotonic() + quiet
        killer.look()
        time.sleep(0.05)


def _judged(
    left: Records, row: Run, name: str, how: Size, seed: int, took: float
) -> dict[str, Any]:
    [parent] = [run for run in left.runs if run.id == str(row.pk)]
    children = [run for run in left.runs if run is not parent]
    kills: dict[str, list[Kill]] = defaultdict(list)
    for kill in left.kills:
        for run_id in kill.held:
            kills[run_id].append(kill)
    found = outside([parent], left.effects, {})
    limits = {"visit": how.window, "log": how.window}
    most, beyond = windows(left, limits, {name: 1}, kills, seconds=LATENCY_MS / 1000)
    verdict = Verdict(
        kills=len(left.kills), repeats_with_key=found.repeated, faults=found.strangers[:20]
    )
    hits = sum(any(run.id in kill.held for run in left.runs) for kill in left.kills)
    if hits < how.kills:
        verdict.invalid.append(f"only {hits} kills hit the run or its children")
    verdict.invalid += [
        f"the window {key} was never full" for key in most if most[key] < limits[key]
    ]
    return report.row(
        "R28",
        runs=len(left.runs),
        seed=seed,
        figure={
            "lost": sum(run.status != "succeeded" for run in left.runs),
            "entries_not_in_their_place": _misplaced(row, name, how.entries),
            "results_doubled": _results_doubled(parent),
            "runs_doubled": len(children) - len({run.name for run in children}),
            "effects_under_two_keys": found.keys_doubled,
            "windows_exceeded": beyond,
            "model_calls_repeated": repeated_requests(left.asked, left.runs, kills),
        },
        target={},
        verdict=verdict,
        also={
            "entries": 2 * how.entries,
            "kills": len(left.kills),
            "kills_that_hit": hits,
            "kills_of_its_own_worker": len(kills[parent.id]),
            "seconds": round(took, 1),
        },
    )


def _misplaced(row: Run, name: str, entries: int) -> int:
    """Count the entries of both lists whose output is not what, or where, it has to be."""
    visits = [f"was at {number}" for number in range(entries)]
    logs = [f"stored {name}/log/{number}" for number in range(entries)]
    found = row.structured or [[], []]
    return sum(
        max(len(expected), len(got)) - sum(a == b for a, b in zip(expected, got, strict=False))
        for expected, got in zip((visits, logs), found, strict=True)
    )


def _results_doubled(run: records.Run) -> int:
    calls = Counter(
        event.payload["call_id"] for event in run.events if event.type == "node.finished"
    )
    return sum(count > 1 for count in calls.values())
