"""Spells in which something that everybody needs is not there, and what they excuse."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.choices import TERMINAL
from agents.models import Run
from tests.chaos.records import Kill

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from uuid import UUID

    from tests.chaos import records
    from tests.chaos.rig import Rig

QUIET_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Outage:
    """One of them: until it was there again."""

    mode: str
    at: float
    back: float


def kills_of(runs: Iterable[records.Run], outage: Outage) -> list[Kill]:
    """What it may excuse: a repeat by a run that was at work when it began or when it ended."""
    held = tuple(run.id for run in runs if _works(run, outage.at) or _works(run, outage.back))
    return [Kill(moment, outage.mode, held) for moment in (outage.at, outage.back)]


def span_of(runs: Iterable[records.Run], outage: Outage) -> Kill:
    """What one in which nothing could be written may excuse: a repeat begun or ended in it."""
    held = tuple(run.id for run in runs if _lived(run, outage))
    return Kill(outage.at, outage.mode, held, until=outage.back)


def finish(on: Rig, ids: Sequence[UUID]) -> None:
    """Wait until these runs have ended, but not for ever."""
    until = time.monotonic() + QUIET_SECONDS
    while Run.objects.filter(pk__in=ids).exclude(status__in=TERMINAL).exists():
        if time.monotonic() > until:
            return
        on.supervisor.tend()
        time.sleep(0.2)


def _works(run: records.Run, at: float) -> bool:
    """Whether a worker had the run at a moment, by its journal."""
    before = [event.type for event in run.events if event.at <= at]
    steps = [kind for kind in before if kind.startswith("run.")]
    return bool(steps) and steps[-1] == "run.started"


def _lived(run: records.Run, outage: Outage) -> bool:
    """Whether the run was there, and not over, in some moment of it."""
    return run.events[0].at <= outage.back and outage.at <= run.events[-1].at
