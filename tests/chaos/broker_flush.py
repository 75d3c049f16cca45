"""R3: everything in Valkey is deleted, again and again, under load.

Right before each FLUSHALL some runs are submitted while the workers hold their breath, so that
their doorbells really hang in Valkey and are lost.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from redis import Redis

from agents.choices import RunStatus
from agents.models import Run
from tests.chaos import report
from tests.chaos.checker import judge
from tests.chaos.couriers import SCRIPT, SHORT_SCRIPT
from tests.chaos.decider import Decider
from tests.chaos.load import Load
from tests.chaos.restarts import Loss, longest, restarts
from tests.chaos.rig import Rig, rig, say
from tests.fleet import frozen

if TYPE_CHECKING:
    from pathlib import Path

#: Of the flushes, so many must have deleted a doorbell.
HITS = 0.9


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        runs: How many in all.
        at_once: How many of them are unfinished at a time, besides the bursts.
        flushes: How often everything is deleted.
        every: Seconds between two flushes.
        burst: Runs that are submitted just before each.
    """

    runs: int
    at_once: int
    flushes: int
    every: float
    burst: int
    script: tuple[str, ...]


SIZES = {
    "small": Size(14, at_once=4, flushes=2, every=1.5, burst=5, script=SHORT_SCRIPT),
    "full": Size(500, at_once=12, flushes=30, every=10.0, burst=8, script=SCRIPT),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Flush and judge."""
    how = SIZES[size]
    with rig(directory, workers=2 if size == "small" else 3) as on:
        load = Load(
            on.workspace,
            f"r3-{seed}",
            on.effects.url,
            runs=how.runs,
            at_once=how.at_once,
            careful_every=5,
            script=how.script,
        )
        with Decider(on.workspace, seed=seed, journal=on.decisions):
            losses = _flush(on, load, how, seed=seed)
            load.finish(on.supervisor.tend)
        left = on.collect(load.ids)
    verdict = judge(left)
    waited = restarts(left.runs, losses)
    hits = sum(bool(loss.rung) for loss in losses)
    if hits < HITS * how.flushes:
        verdict.invalid.append(f"only {hits} of {how.flushes} flushes deleted a doorbell")
    if len(waited) < hits:
        verdict.invalid.append(f"only {len(waited)} runs were queued when their doorbells went")
    return report.row(
        "R3",
        runs=len(load.ids),
        seed=seed,
        figure={**report.promises(verdict), "restart_max_s": longest(waited)},
        target={"restart_max_s": settings.HEARTBIT_SWEEP_SECONDS + 5.0},
        verdict=verdict,
        also={
            "flushes": len(losses),
            "doorbells_deleted": sum(loss.rung or 0 for loss in losses),
            "runs_left_without_doorbell": len(waited),
        },
    )


def _flush(on: Rig, load: Load, how: Size, *, seed: int) -> list[Loss]:
    """Delete everything, so often; the load stays up between, and lasts until the last flush."""
    choice = random.Random(seed)  # noqa: S311  repeatable, not secret
    began = time.monotonic()
    losses: list[Loss] = []
    with Redis.from_url(settings.REDIS_URL) as valkey:
        while len(losses) < how.flushes:
            due = began + how.every * (len(losses) + choice.uniform(0.5, 1.0))
            while time.monotonic() < due:
                on.supervisor.tend()
                load.submit(keep=how.burst * (how.flushes - len(losses)))
                time.sleep(0.05)
            losses.append(_lose(on, load, how.burst, valkey))
            loss = losses[-1]
            say(f"flushed {loss.rung} doorbells of {len(loss.queued)} queued runs")
    return losses


def _lose(on: Rig, load: Load, burst: int, valkey: Redis) -> Loss:
    with frozen(on.supervisor):
        for _ in range(burst):
            load.submit_one()
        both = valkey.pipeline()
        both.llen(on.queue)
        both.flushall()
        rung, _ = both.execute()
        at = time.time()
        # Those that a sweeper rings before the workers breathe again are found as well.
        queued = Run.objects.filter(pk__in=load.ids, status=RunStatus.QUEUED)
        return Loss(at, rung, tuple(map(str, queued.values_list("pk", flat=True))))
