"""R25: whole fleets crash over open calls, once and twice; how long innocent runs wait afterwards.

After one crash they simply go on. After two each of them is a suspect, which is tried apart from
the others.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.choices import RunStatus
from agents.models import Run, RunEvent, ToolCall
from tests.chaos import report
from tests.chaos.checker import judge
from tests.chaos.load import Load
from tests.chaos.rig import rig, say
from tests.fleet import wait_until

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from tests.chaos.checker import Verdict
    from tests.chaos.records import Kill

CALL_MS = 3_000.0  # long enough for all of a fleet to be in one


@dataclass(frozen=True, slots=True)
class Size:
    """Runs, workers, and how many times longer than after one crash they may wait after two."""

    runs: int
    workers: int
    slower: float


SIZES = {"small": Size(8, workers=2, slower=4.0), "full": Size(40, workers=2, slower=3.0)}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Kill one fleet once and another one twice, and compare."""
    how = SIZES[size]
    once = _drain(directory / "once", how, crashes=1, name=f"r25-{seed}-once")
    twice = _drain(directory / "twice", how, crashes=2, name=f"r25-{seed}-twice")
    verdict = twice.verdict
    verdict.lost += once.verdict.lost
    verdict.doubled += once.verdict.doubled
    verdict.faults += once.verdict.faults
    if not twice.suspects:
        verdict.invalid.append("nobody was a suspect")
    return report.row(
        "R25",
        runs=2 * how.runs,
        seed=seed,
        figure={
            **report.promises(verdict),
            "quarantined": once.quarantined + twice.quarantined,
            "slower_times": round(twice.seconds / once.seconds, 2),
        },
        target={"slower_times": how.slower},
        verdict=verdict,
        also={
            "suspects": twice.suspects,
            "drained_after_one_crash_s": round(once.seconds, 2),
            "drained_after_two_crashes_s": round(twice.seconds, 2),
        },
    )


@dataclass(frozen=True, slots=True)
class Drained:
    """What became of the runs.

    Attributes:
        seconds: From the last crash to the last end.
        suspects: Runs that were suspects after the crashes.
    """

    verdict: Verdict
    seconds: float
    suspects: int
    quarantined: int


def _drain(directory: Path, how: Size, *, crashes: int, name: str) -> Drained:
    directory.mkdir()
    with rig(directory, workers=how.workers, effect_ms=CALL_MS) as on:
        load = Load(
            on.workspace, name, on.effects.url, runs=how.runs, at_once=how.runs, script=("S",)
        )
        load.submit()
        kills: list[Kill] = []
        for crash in range(crashes):
            _wait_for_calls(load.ids, attempt=crash + 1)
            kills += on.supervisor.kill_all()
            on.supervisor.tend()
        began = time.monotonic()
        load.finish(on.supervisor.tend)
        seconds = time.monotonic() - began
        left = on.collect(load.ids, kills=kills)
    runs = Run.objects.filter(pk__in=load.ids)
    tried = RunEvent.objects.filter(run__in=load.ids, payload__task_id__startswith="alone-")
    say(f"{crashes} crash(es): all had ended after {seconds:.1f} s")
    return Drained(
        judge(left),
        seconds,
        suspects=tried.values("run").distinct().count(),
        quarantined=runs.filter(status=RunStatus.QUARANTINED).count(),
    )


def _wait_for_calls(ids: list[UUID], *, attempt: int) -> None:
    """Wait until each run has its call open in a worker, for so many times by now."""

    def are_open() -> bool:
        held = Run.objects.filter(pk__in=ids, status=RunStatus.RUNNING, crashes=attempt - 1)
        calls = ToolCall.objects.filter(run__in=held, finished_at=None)
        begun = RunEvent.objects.filter(run__in=held, type="run.started").count()
        return calls.count() == len(ids) and begun == attempt * len(ids)

    wait_until(are_open, seconds=60, what="an open call of each run")
