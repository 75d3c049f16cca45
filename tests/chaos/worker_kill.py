"""R1: a worker is killed every two seconds under runs that act on the outside world.

One run in five asks a person before each effect; what they decide is what may happen. One in three
acts from a script of its model, so workers die inside scripts, too.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db.models import Exists, OuterRef

from agents.journal.events import ScriptCalled
from agents.loop import script_tools
from agents.models import Run, RunEvent, ToolCall
from tests.chaos import report
from tests.chaos.checker import check
from tests.chaos.decider import Decider
from tests.chaos.load import Load
from tests.chaos.rig import rig, say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from django.db.models import QuerySet

    from tests.chaos.records import Kill, Records
    from tests.chaos.supervisor import Supervisor

KILL_EVERY = 2.0
CAREFUL_EVERY = 5
SCRIPTED_EVERY = 3


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        runs: How many in all.
        at_once: How many of them are unfinished at a time.
        give_up: Seconds of killing after which the rest may end in peace.
    """

    runs: int
    at_once: int
    give_up: float


SIZES = {"small": Size(8, at_once=6, give_up=60), "full": Size(60, at_once=15, give_up=240)}


def play(size: str, *, seed: int, directory: Path, runs: int | None = None) -> dict[str, Any]:
    """Kill and judge; ``runs`` overrides the size's."""
    how = SIZES[size] if runs is None else replace(SIZES[size], runs=runs)
    records = _run(how, seed=seed, directory=directory)
    verdict = check(records)
    of_scripts = sum(each.type == "script.called" for run in records.runs for each in run.events)
    inside = _inside_scripts(records)
    if not of_scripts:
        verdict.invalid.append("no script made a call")
    if not inside:
        verdict.invalid.append("no worker died inside a script")
    recovery = settings.HEARTBIT_LEASE_SECONDS + settings.HEARTBIT_SWEEP_SECONDS + 3.0
    figure = {
        **report.promises(verdict),
        "recovery_p95_s": round(verdict.recovery_p95(), 2),
    }
    return report.row(
        "R1",
        runs=how.runs,
        seed=seed,
        figure=figure,
        target={"recovery_p95_s": recovery},
        verdict=verdict,
        also={
            "kills": verdict.kills,
            "calls_of_scripts": of_scripts,
            "kills_inside_scripts": inside,
            "recoveries": len(verdict.recoveries),
        },
    )


def _inside_scripts(records: Records) -> int:
    """Count the kills of workers in the middle of a script that had made calls."""
    count = 0
    for run in records.runs:
        called = [each for each in run.events if each.type == "script.called"]
        if not called:
            continue
        script = called[0].payload["call_id"]
        ended = [
            each.at
            for each in run.events
            if each.type == "tool.finished" and each.payload["call_id"] == script
        ]
        until = ended[0] if ended else float("inf")
        held = (kill.at for kill in records.kills if run.id in kill.held)
        count += sum(called[0].at < at < until for at in held)
    return count


def _in_scripts(runs: Sequence[str] | None = None) -> QuerySet[Run]:
    """Runs, of these or of all, whose script has made calls and has not ended."""
    of_script = ToolCall.objects.filter(run=OuterRef("pk"), tool=script_tools.RUN, result=None)
    called = RunEvent.objects.filter(run=OuterRef("pk"), type=ScriptCalled.type)
    found = Run.objects.filter(Exists(of_script), Exists(called))
    return found if runs is None else found.filter(pk__in=runs)


def _run(size: Size, *, seed: int, directory: Path) -> Records:
    """Do it, leave the ledgers and logs in ``directory``, and return what happened."""
    with rig(directory) as on:
        load = Load(
            on.workspace,
            f"r1-{seed}",
            on.effects.url,
            runs=size.runs,
            at_once=size.at_once,
            careful_every=CAREFUL_EVERY,
            scripted_every=SCRIPTED_EVERY,
        )
        killer = _Killer(on.supervisor, seed=seed)
        with Decider(on.workspace, seed=seed, journal=on.decisions):
            give_up = time.monotonic() + size.give_up
            while load.submit() and time.monotonic() < give_up:
                on.supervisor.tend()
                killer.look()
                time.sleep(0.05)
            if time.monotonic() >= give_up:
                say(f"gave up killing after {size.give_up:g} s")
            load.finish(on.supervisor.tend)
    return on.collect(load.ids, kills=killer.kills, missed_windows=killer.missed_windows)


class _Killer:
    """Kills once in each window, as soon as it hurts.

    A kill leaves one worker that could go on, so a window waits while fewer than two are up. Until
    a worker has died inside a script, one that is inside of one is preferred, and waited for.
    """

    def __init__(self, supervisor: Supervisor, *, seed: int) -> None:
        self.kills: list[Kill] = []
        self._hit_a_script = False
        self.missed_windows = 0
        self._supervisor = supervisor
        self._choice = random.Random(seed)  # noqa: S311  repeatable, not secret
        self._window = time.monotonic() + KILL_EVERY

    def look(self) -> None:
        """Kill if it is time to."""
        now = time.monotonic()
        if now < self._window or self._supervisor.registered() < 2:
            return
        kill = None
        if not self._hit_a_script:
            kill = self._supervisor.kill_one(self._choice, _in_scripts())
            self._hit_a_script = kill is not None and _in_scripts(kill.held).exists()
            if kill is None and now < self._window + KILL_EVERY:
                return
        kill = kill or self._supervisor.kill_one(self._choice)
        if kill is not None:
            self.kills.append(kill)
            say(f"killed worker {kill.worker} with {len(kill.held)} runs")
        elif now < self._window + KILL_EVERY:
            return
        else:
            self.missed_windows += 1
        self._window = now + KILL_EVERY
