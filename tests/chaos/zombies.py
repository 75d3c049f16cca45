"""R7: workers freeze for longer than anybody waits for them, and then go on as if nothing was.

The frozen one was declared dead and others have its runs. What it still writes is refused, what it
still does outside is what its tools' effect classes allow, and it begins anew under another row.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.choices import RunStatus
from agents.models import Run, RunEvent, WorkerHeartbeat
from tests.chaos import report, testimony
from tests.chaos.checker import judge
from tests.chaos.couriers import SCRIPT
from tests.chaos.crashes import agent_tools as crashes
from tests.chaos.decider import Decider
from tests.chaos.load import Load
from tests.chaos.records import Kill
from tests.chaos.rig import Rig, rig, say
from tests.chaos.toolbox import agent_tools as toolbox

if TYPE_CHECKING:
    from pathlib import Path

#: A worker stands still for so many leases.
FROZEN_LEASES = 3.0
#: Of the frozen slices, so many must have been in a model call or in a tool, not in between.
HITS = 0.75
#: What a slice does after such an event.
_DOING = {"run.started": "asking", "tool.finished": "asking", "tool.started": "acting"}


@dataclass(frozen=True, slots=True)
class Size:
    """How much of it.

    Attributes:
        slices: How many are frozen in all.
        at_a_time: A worker is frozen once it holds so many.
        at_once: Runs that are unfinished at a time.
        lease: Seconds.
    """

    slices: int
    at_a_time: int
    at_once: int
    lease: float
    script: tuple[str, ...]


SIZES = {
    "small": Size(4, at_a_time=4, at_once=12, lease=2.0, script=("SR", "R", "S", "R")),
    "full": Size(200, at_a_time=20, at_once=50, lease=5.0, script=SCRIPT),
}


@dataclass(slots=True)
class Frozen:
    """What happened to those that froze.

    Attributes:
        pauses: A freeze and a thaw for each: what either excuses is what a kill does.
        slices: What they held then.
        asking: Slices that waited for a model.
        acting: Slices that waited for a tool.
        late: Seconds from each thaw until then.
    """

    pauses: list[Kill] = field(default_factory=list)
    slices: int = 0
    asking: int = 0
    acting: int = 0
    late: list[float] = field(default_factory=list)


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Freeze, thaw, and judge."""
    how = SIZES[size]
    seen = directory / "writes"
    seen.mkdir()
    settings = {
        "HEARTBIT_LEASE_SECONDS": str(how.lease),
        "HEARTBIT_EXTRA_APPS": f"{toolbox.__package__},{crashes.__package__}",
        "CHAOS_WITNESS": str(seen),
    }
    with rig(directory, workers=2, model_ms=700, effect_ms=700, settings=settings) as on:
        load = Load(
            on.workspace,
            f"r7-{seed}",
            on.effects.url,
            runs=10**6,
            at_once=how.at_once,
            script=how.script,
        )
        with Decider(on.workspace, seed=seed, journal=on.decisions):
            frozen = _freeze(on, load, how, seed=seed)
            load.runs = len(load.ids)
            load.finish(on.supervisor.tend)
        left = on.collect(load.ids, kills=frozen.pauses)
    writes = testimony.read(seen)
    accepted, refused = testimony.stale(writes)
    verdict = judge(left)
    failed = sum(run.status == "failed" for run in left.runs)
    verdict.faults += [f"a stale write was accepted: {write}" for write in accepted]
    verdict.faults += testimony.unexplained(left.runs, writes)
    if not refused:
        verdict.invalid.append("no zombie tried to write")
    if frozen.asking + frozen.acting < HITS * frozen.slices or not frozen.asking * frozen.acting:
        verdict.invalid.append(
            f"of {frozen.slices} frozen slices {frozen.asking} asked a model, {frozen.acting} acted"
        )
    return report.row(
        "R7",
        runs=len(load.ids),
        seed=seed,
        figure={
            **report.promises(verdict),
            "stale_writes_accepted": len(accepted),
            "live_attempts_failed": failed,
            "registered_anew_max_s": round(max(frozen.late, default=0.0), 2),
        },
        target={"registered_anew_max_s": how.lease},
        verdict=verdict,
        also={
            "freezes": len(frozen.late),
            "slices_frozen": frozen.slices,
            "in_a_model_call": frozen.asking,
            "in_a_tool_call": frozen.acting,
            "stale_writes_refused": len(refused),
            "writes_seen": len(writes),
        },
    )


def _freeze(on: Rig, load: Load, how: Size, *, seed: int) -> Frozen:
    """Freeze one worker after the other, until enough slices were."""
    choice = random.Random(seed)  # noqa: S311  repeatable, not secret
    frozen = Frozen()
    give_up = time.monotonic() + 60 + 30 * how.slices / how.at_a_time
    while frozen.slices < how.slices and time.monotonic() < give_up:
        _trickle(load)
        if on.supervisor.registered() < on.supervisor.count:
            continue
        workers = WorkerHeartbeat.objects.filter(
            name__in=on.supervisor.names(), left_at__isnull=True
        )
        victim = choice.choice(list(workers))
        held = _held(victim)
        doing = _doing(held)
        if len(held) >= how.at_a_time and len(doing) == 2:
            _stop(victim, frozen, load, how)
    return frozen


def _trickle(load: Load) -> None:
    """One run at a time, so that they are not all at the same point."""
    if load.unfinished() < load.at_once:
        load.submit_one()
    time.sleep(0.07)


def _held(worker: WorkerHeartbeat) -> frozenset[Any]:
    held = Run.objects.filter(status=RunStatus.RUNNING, worker=worker)
    return frozenset(held.values_list("pk", flat=True))


def _doing(runs: frozenset[Any]) -> Counter[str]:
    """How many of these wait for a tool, and how many for a model."""
    doing: Counter[str] = Counter()
    for run in runs:
        last = RunEvent.objects.filter(run_id=run).latest("seq")
        if last.type in _DOING:
            doing[_DOING[last.type]] += 1
    return doing


def _stop(worker: WorkerHeartbeat, frozen: Frozen, load: Load, how: Size) -> None:
    """Freeze one, long enough to be given up, and see it begin again."""
    pid = int(worker.name.rpartition(":")[2])
    os.kill(pid, signal.SIGSTOP)
    at = time.time()
    held = _held(worker)
    try:
        doing = _doing(held)
        frozen.acting += doing["acting"]
        frozen.asking += doing["asking"]
        over = time.monotonic() + FROZEN_LEASES * how.lease
        while time.monotonic() < over:
            _trickle(load)
    finally:
        thawed = time.time()
        os.kill(pid, signal.SIGCONT)
    frozen.slices += len(held)
    runs = tuple(map(str, held))
    frozen.pauses += [Kill(at, worker.name, runs), Kill(thawed, worker.name, runs)]
    say(f"worker {worker.name} was frozen with {len(held)} runs")
    again = WorkerHeartbeat.objects.filter(name=worker.name, pk__gt=worker.pk, left_at__isnull=True)
    while not again.exists() and time.time() < thawed + 10 * how.lease:
        time.sleep(0.02)
    frozen.late.append(time.time() - thawed)
