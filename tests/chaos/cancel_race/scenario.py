"""R14: runs are cancelled while they wait, ask, act, end; exactly one thing comes of it."""

from __future__ import annotations

import json
import random
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.choices import TERMINAL
from agents.models import Run
from heartbit_site.base.orm import OrmExecutor
from tests.chaos import journals, records, report
from tests.chaos.cancel_race.judge import Findings, Left, judge
from tests.chaos.cancel_race.kinds import IDLE, KINDS, Kind
from tests.chaos.cancel_race.racing import Race, Track
from tests.chaos.checker import Verdict
from tests.chaos.crash_points import stage
from tests.chaos.crashes import agent_tools
from tests.chaos.rig import rig, say

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from heartbit_site.base.models import Workspace

#: Of the cancels that did not race with the end, so many must have met a live run.
HITS = 0.9
QUIET_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Size:
    """How much of it: races, and how many of them at a time."""

    races: int
    at_once: int


SIZES = {"small": Size(16, at_once=16), "full": Size(1000, at_once=16)}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Race and judge."""
    how = SIZES[size]
    told = directory / "told.jsonl"
    told.touch()
    settings = {
        "HEARTBIT_EXTRA_APPS": agent_tools.__package__ or "",
        "CHAOS_TOLD": str(told),
    }
    with rig(directory, workers=2, model_ms=50, effect_ms=20, settings=settings) as on:
        workspace = stage.workspace_of_subjects(on.queue, slug=f"{on.queue}-races")
        stage.add_agent(workspace, IDLE, f"{on.queue}-idle")
        track = Track(workspace, directory / "model.jsonl")
        races = _race(track, _drawn(how.races, seed), how, name=f"r14-{seed}")
        _settle(workspace)
        found = judge(races, _left(workspace, races, directory))
        own_exits = on.supervisor.own_exits
    return _row(races, found, seed=seed, own_exits=own_exits)


def _drawn(count: int, seed: int) -> list[Kind]:
    """So many kinds by their shares, each at least once, in random order."""
    dice = random.Random(seed)  # noqa: S311  repeatable, not secret
    kinds = [*KINDS, *dice.choices(KINDS, [kind.share for kind in KINDS], k=count - len(KINDS))]
    dice.shuffle(kinds)
    return kinds


def _race(track: Track, kinds: Sequence[Kind], how: Size, *, name: str) -> list[Race]:
    executor = OrmExecutor(how.at_once, name="race")
    try:
        waiting = [
            executor.submit(track.race, kind, f"{name}-{number}")
            for number, kind in enumerate(kinds)
        ]
        races = []
        for future in waiting:
            races.append(future.result())
            if len(races) % 100 == 0:
                say(f"{len(races)} races")
        return races
    finally:
        executor.shutdown(cancel_futures=True)


def _settle(workspace: Workspace) -> None:
    live = Run.objects.filter(workspace=workspace).exclude(status__in=TERMINAL)
    give_up = time.monotonic() + QUIET_SECONDS
    while live.exists() and time.monotonic() < give_up:
        time.sleep(0.05)


def _left(workspace: Workspace, races: Sequence[Race], directory: Path) -> dict[str, Left]:
    effects = defaultdict(list)
    for effect in (*records.read_effects(directory / "effects.jsonl"), *stage.rows(workspace)):
        effects[effect.op].append(effect)
    lines = map(json.loads, (directory / "told.jsonl").read_text().splitlines())
    told = {line["op"]: line["at"] for line in lines}
    children = defaultdict(list)
    for parent, status in Run.objects.filter(workspace=workspace, parent__isnull=False).values_list(
        "parent", "status"
    ):
        children[parent].append(status)
    outputs = dict(Run.objects.filter(workspace=workspace).values_list("pk", "output"))
    runs = {run.id: run for run in journals.read([race.run for race in races])}
    return {
        race.name: Left(
            runs[str(race.run)],
            outputs[race.run] or "",
            effects[race.name],
            told.get(race.name),
            children[race.run],
        )
        for race in races
    }


def _row(races: Sequence[Race], found: Findings, *, seed: int, own_exits: int) -> dict[str, Any]:
    verdict = Verdict(faults=found.faults)
    if own_exits:
        verdict.faults.append(f"{own_exits} workers ended by themselves")
    drawn = Counter(race.kind.name for race in races)
    for kind, count in drawn.items():
        met = found.met.get(kind, 0)
        if not kind.startswith("ending") and met < HITS * count:
            verdict.invalid.append(f"only {met} of {count} cancels met a live run: {kind}")
    if not found.told:
        verdict.invalid.append("no tool was running")
    return report.row(
        "R14",
        runs=len(races),
        seed=seed,
        figure={
            "endings_not_one": found.endings,
            "effects_begun_after_cancel": found.late_effects,
            "tools_never_told": found.untold,
            "told_max_s": round(max(found.told, default=0.0), 2),
            "silent_model_ended_max_s": round(max(found.silent, default=0.0), 2),
            "sub_agents_left_alive": found.orphans,
            "half_answers_lost": found.lost,
        },
        target={"told_max_s": 2.0, "silent_model_ended_max_s": 1.0},
        verdict=verdict,
        also={
            "cancels_that_met_a_live_run": sum(found.met.values()),
            "decided_within_30_ms": found.close,
            "tools_told": len(found.told),
            "half_answers_kept": found.kept,
            "ended_max_ms": round(1000 * max(found.ended, default=0.0)),
        },
    )
