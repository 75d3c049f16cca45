"""R18: deploys under load: one worker after the other is told to leave, and replaced.

In the middle the journal's functions are installed anew, as a migration does it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import connection, transaction

from agents.runs.install import install
from tests.chaos import report
from tests.chaos.checker import check
from tests.chaos.load import Load
from tests.chaos.rig import rig, say
from tests.fleet import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.records import Kill, Records
    from tests.chaos.supervisor import Supervisor

DRAIN_SECONDS = 30.0
REPEATS_A_RESTART = 1  # of one run: the model call that was under way


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets: restarts, and the runs they happen under."""

    restarts: int
    at_once: int
    workers: int


SIZES = {
    "small": Size(restarts=2, at_once=6, workers=2),
    "full": Size(restarts=20, at_once=15, workers=3),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Restart and judge."""
    how = SIZES[size]
    restarts: list[Kill] = []
    drains: list[float] = []
    with rig(directory, workers=how.workers) as on:
        load = Load(on.workspace, f"r18-{seed}", on.effects.url, runs=10_000, at_once=how.at_once)
        load.submit()
        for number in range(how.restarts):
            turn = number % how.workers
            wait_until(partial(_busy, load, on.supervisor, turn), what="a worker with runs")
            restart, took = on.supervisor.restart_one(turn)
            say(f"worker {restart.worker} left after {took:.2f} s with {len(restart.held)} runs")
            restarts.append(restart)
            drains.append(took)
            if number == how.restarts // 2:
                _migrate()
            until = time.monotonic() + 60
            while on.supervisor.registered() < how.workers and time.monotonic() < until:
                load.submit()
                time.sleep(0.05)
        load.runs = len(load.ids)
        load.finish(on.supervisor.tend)
        left = on.collect(load.ids, kills=restarts)
    verdict = check(left)
    return report.row(
        "R18",
        runs=len(load.ids),
        seed=seed,
        figure={
            **report.promises(verdict),
            "calls_left_uncertain": verdict.uncertain,
            "idempotent_repeated": verdict.repeats_with_key,
            "repeats_a_run_and_restart": _repeats(left),
            "drain_s": round(max(drains), 2),
        },
        target={"drain_s": DRAIN_SECONDS, "repeats_a_run_and_restart": REPEATS_A_RESTART},
        verdict=verdict,
        also={"restarts": len(restarts), "drain_p50_s": round(sorted(drains)[len(drains) // 2], 2)},
    )


def _busy(load: Load, supervisor: Supervisor, index: int) -> bool:
    load.submit()
    return bool(supervisor.held_by(index))


def _repeats(left: Records) -> int:
    """Of the runs that a restart interrupted: the most model calls that one of them repeated."""
    asked: dict[tuple[str, int], int] = {}
    for each in left.asked:
        asked[each.run, each.turn] = asked.get((each.run, each.turn), 0) + 1
    most = 0
    for run in left.runs:
        hits = sum(run.id in restart.held for restart in left.kills)
        again = sum(count - 1 for (name, _), count in asked.items() if name == run.name)
        most = max(most, again - hits + 1 if hits else again)
    return most


def _migrate() -> None:
    with transaction.atomic(), connection.schema_editor() as editor:
        install(None, editor)
