"""R2: whatever boundary a worker dies at, its run ends in the one state the table predicts."""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from agents.choices import TERMINAL
from agents.models import Run
from heartbit_site.base.toolspec import Effect
from tests.chaos import report
from tests.chaos.checker import judge
from tests.chaos.crash_points import stage
from tests.chaos.crash_points.oracle import speak
from tests.chaos.crash_points.rig import crash_rig
from tests.chaos.crash_points.table import TELL, Case, cases, covering, expected
from tests.chaos.rig import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set
    from pathlib import Path

    from tests.chaos.crash_points.rig import CrashRig
    from tests.chaos.crash_points.stage import Play
    from tests.chaos.records import Call, Records

T = TypeVar("T")

#: Of the runs, so many may not be judged.
DISTURBED = 0.02


@dataclass(frozen=True, slots=True)
class Size:
    """How much of it.

    Attributes:
        repeats: How often each case is played.
        workers: Processes, each with one slot.
        at_once: Runs that are unfinished at a time.
        patience: Seconds without an ended run after which those left are lost.
        lease: Seconds; long enough that a busy machine gives up nobody who lives.
    """

    repeats: int
    workers: int
    at_once: int
    patience: float
    lease: float


SIZES = {
    "small": Size(1, workers=4, at_once=14, patience=60, lease=5),
    "full": Size(10, workers=8, at_once=24, patience=60, lease=15),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Let workers die, and compare."""
    how = SIZES[size]
    chosen = list(covering() if size == "small" else cases()) * how.repeats
    random.Random(seed).shuffle(chosen)  # noqa: S311  repeatable, not secret
    with crash_rig(directory, workers=how.workers, lease=how.lease) as on:
        plays = _perform(on, chosen, how, name=f"r2-{seed}")
        left, births = on.collect(), on.brood.births
    return _judged(plays, left, seed=seed, births=births)


def _perform(on: CrashRig, chosen: Sequence[Case], how: Size, *, name: str) -> list[Play]:
    """Start every case when there is room, until all have ended."""
    plays: list[Play] = []
    open_: list[Play] = []
    changed = time.monotonic()
    while len(plays) < len(chosen) or open_:
        on.brood.tend()
        while len(plays) < len(chosen) and len(open_) < how.at_once:
            plays.append(stage.start(on.workspace, chosen[len(plays)], f"{name}-{len(plays)}"))
            open_.append(plays[-1])
        speak(open_)
        before = len(open_)
        ended = set(
            Run.objects.filter(
                pk__in=[play.root for play in open_], status__in=TERMINAL
            ).values_list("pk", flat=True)
        )
        open_ = [play for play in open_ if play.root not in ended]
        now = time.monotonic()
        if len(open_) < before:
            changed = now
            if len(plays) % 100 == 0:
                say(f"{len(plays)} cases started, {on.brood.births} workers born")
        elif now > changed + how.patience:
            break
        time.sleep(0.05)
    return plays


def _judged(plays: Sequence[Play], left: Records, *, seed: int, births: int) -> dict[str, Any]:
    asked = _grouped(left.asked, lambda each: each.run)
    happened = _grouped(left.effects, lambda each: each.op)
    deaths = Counter(run for kill in left.kills for run in kill.held)
    disturbed = _disturbed(left, deaths)
    wrong: list[str] = []
    unhit = 0
    for each in plays:
        if each.name in disturbed:
            continue
        seen = stage.observed(each, asked[each.name], happened[each.name])
        if seen != expected(each.case):
            wrong.append(f"{each.name} {each.case}: {seen}, not {expected(each.case)}")
        unhit += deaths[str(each.run.pk) if each.run else ""] != len(each.case.plan)
    failing = {each.name for each in plays if expected(each.case).run == "failed"}
    verdict = judge(_without_pure(_as_wanted(_without(left, disturbed), failing)))
    # What a person repeated was their decision, and an agent that retries said so beforehand: the
    # judge knows neither, the table does.
    allowed = {each.name for each in plays if each.case.word != TELL}
    verdict.faults = [fault for fault in verdict.faults if not _is_wanted(fault, allowed)]
    verdict.faults += wrong
    if unhit:
        verdict.invalid.append(f"in {unhit} cases fewer workers died than planned")
    if len(disturbed) > DISTURBED * len(plays):
        verdict.invalid.append(f"{len(disturbed)} runs lost a worker that was not to die")
    return report.row(
        "R2",
        runs=len(plays),
        seed=seed,
        figure={"cases_off_the_table": len(wrong), "lost": verdict.lost},
        target={},
        verdict=verdict,
        also={
            "workers_died": len(left.kills),
            "workers_born": births,
            "runs_not_judged": len(disturbed),
        },
    )


def _disturbed(left: Records, deaths: Counter[str]) -> frozenset[str]:
    """Runs of workers that were given up though nobody killed them: the machine was too busy."""
    return frozenset(
        run.name
        for run in left.runs
        if sum(event.type == "run.requeued" for event in run.events) > deaths[run.id]
    )


def _without(left: Records, names: frozenset[str]) -> Records:
    runs = tuple(run for run in left.runs if run.name not in names)
    effects = tuple(effect for effect in left.effects if effect.op not in names)
    return replace(left, runs=runs, effects=effects)


def _as_wanted(left: Records, failing: Set[str]) -> Records:
    """Count a run that failed as the table says as one that succeeded: the judge wants many."""
    wanted = {run.id for run in left.runs if run.name in failing and run.status == "failed"}
    runs = (replace(run, status="succeeded") if run.id in wanted else run for run in left.runs)
    return replace(left, runs=tuple(runs))


def _is_wanted(fault: str, allowed: Iterable[str]) -> bool:
    return fault.partition(" ")[0].rstrip(":") in allowed


def _without_pure(left: Records) -> Records:
    """A pure call may be executed as often as one likes: the table counts, the judge need not."""
    runs = tuple(replace(run, calls=tuple(map(_unless_pure, run.calls))) for run in left.runs)
    pure = stage.TOOLS[Effect.PURE]
    effects = tuple(effect for effect in left.effects if effect.tool != pure)
    return replace(left, runs=runs, effects=effects)


def _unless_pure(call: Call) -> Call:
    return replace(call, op="") if call.effect == Effect.PURE else call


def _grouped(items: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups
