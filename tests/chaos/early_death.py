"""R8: a worker dies between a run's claim and its own next heartbeat, which would be its first.

Nothing but its lock, and the row it registered with, says that it was ever there.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.db import connection

from agents.choices import TERMINAL
from agents.models import Run, WorkerHeartbeat
from heartbit_site.base.toolspec import Effect
from tests.chaos import report
from tests.chaos.checker import check
from tests.chaos.crash_points import stage
from tests.chaos.crash_points.rig import crash_rig
from tests.chaos.crash_points.table import Case
from tests.chaos.crashes.boundary import Boundary
from tests.chaos.rig import say
from tests.fleet import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.crash_points.rig import CrashRig
    from tests.chaos.records import Kill, Records

#: Of the deaths, so many must have come before the worker's first heartbeat. It comes soon after
#: the registration, so that on a slow machine some claims are later.
HITS = 0.5
_EFFECTS = (Effect.IDEMPOTENT, Effect.TRANSACTIONAL, Effect.AT_MOST_ONCE)


@dataclass(frozen=True, slots=True)
class Size:
    """How much of it.

    Attributes:
        deaths: Runs, each of which kills the worker that claims it first.
        workers: Processes, each with one slot.
        patience: Seconds without a death or an end after which those left are lost.
    """

    deaths: int
    workers: int
    patience: float = 60.0


SIZES = {"small": Size(6, workers=3), "full": Size(200, workers=6)}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Let them die early, and see when somebody else has the run."""
    how = SIZES[size]
    lease = settings.HEARTBIT_LEASE_SECONDS
    wait_until(partial(_is_settled, lease))
    with crash_rig(directory, workers=how.workers, lease=lease) as on:
        _perform(on, how, name=f"r8-{seed}")
        left = on.collect()
    verdict = check(left)
    waited = reclaimed(left)
    unbeaten = sum(beat_no_more(left, kill) for kill in left.kills)
    if len(left.kills) != how.deaths:
        verdict.invalid.append(f"{len(left.kills)} of {how.deaths} workers died")
    if unbeaten < HITS * how.deaths:
        verdict.invalid.append(f"only {unbeaten} workers died before their first heartbeat")
    verdict.faults += [
        f"{run} was not reclaimed" for kill in left.kills for run in kill.held if run not in waited
    ]
    return report.row(
        "R8",
        runs=len(left.runs),
        seed=seed,
        figure={
            **report.promises(verdict),
            "reclaimed_max_s": round(max(waited.values(), default=0.0), 2),
        },
        target={"reclaimed_max_s": lease + settings.HEARTBIT_SWEEP_SECONDS},
        verdict=verdict,
        also={
            "workers_died": len(left.kills),
            "before_their_first_heartbeat": unbeaten,
            "runs_reclaimed": len(waited),
        },
    )


def _is_settled(lease: float) -> bool:
    """Return True once the server is up for so long that sweepers trust the locks of workers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp() - pg_postmaster_start_time()")
        [up] = cursor.fetchone()
    return bool(up.total_seconds() > 2 * lease)


def _perform(on: CrashRig, how: Size, *, name: str) -> None:
    """Start every run at once, so that each new worker finds one, and wait for all."""
    effects = itertools.cycle(_EFFECTS)
    for number in range(how.deaths):
        stage.start(on.workspace, Case(Boundary.CLAIMED, next(effects), 1), f"{name}-{number}")
    runs = Run.objects.filter(workspace=on.workspace)
    on.sweeper.ready()  # all others are too short of life to find anybody dead
    seen, changed = 0, time.monotonic()
    ended = 0
    while ended < how.deaths and time.monotonic() < changed + how.patience:
        on.brood.tend()
        ended = runs.filter(status__in=TERMINAL).count()
        if ended + on.brood.births > seen:
            changed = time.monotonic()
            if (ended + on.brood.births) // 100 > seen // 100:
                say(f"{on.brood.births} workers born, {ended} runs ended")
        seen = ended + on.brood.births
        time.sleep(0.05)


def reclaimed(left: Records) -> dict[str, float]:
    """Seconds from each death until its run was queued again, by run id."""
    deaths = {run: kill.at for kill in left.kills for run in kill.held}
    return {
        run.id: event.at - deaths[run.id]
        for run in left.runs
        for event in run.events
        if event.type == "run.requeued" and run.id in deaths
    }


def beat_no_more(left: Records, kill: Kill) -> bool:
    """Return True if the worker that this killed beat no more after it had claimed the run.

    The database has written both times, in their order, however slow the machine is.
    """
    (held,) = kill.held
    run = next(run for run in left.runs if run.id == held)
    started = next(event for event in run.events if event.type == "run.started")
    # The name has the process's id, which another one may have had before.
    row = WorkerHeartbeat.objects.filter(name=started.payload["worker"]).latest("started_at")
    return row.beat_at.timestamp() <= started.at
