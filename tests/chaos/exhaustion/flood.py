"""R21: one workspace starts ten thousand runs; another one's still start at once.

All share the workers. A third workspace, whose tier lets only a few runs work at once, has a small
flood of its own: never more than those are at work, and all of them end.
"""

from __future__ import annotations

import secrets
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.db import connections

from agents.choices import TERMINAL, RunStatus
from agents.models import Run
from heartbit_site.base.models import Tier, Workspace
from tests.bench.figures import percentile
from tests.chaos import report
from tests.chaos.checker import Verdict
from tests.chaos.couriers import COURIER, workspace_of_couriers
from tests.chaos.rig import Rig, rig, say
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

START_P95_SECONDS = 5.0
AT_ONCE = 3
MODEL_MS = 400.0  # so that the flood comes faster than it is served
SUBMITTERS = 4
#: Of the others' runs, so many must have come while the flood was waiting.
MET = 0.8
QUIET_SECONDS = 60.0  # nothing ended for so long: nothing will


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        flood: Runs of the workspace that floods.
        limited: Runs of the one that may have ``AT_ONCE`` at work.
        others: Runs of the one that must not be starved, at least.
        every: Seconds between two of these.
        concurrency: Runs that each of the two workers holds.
    """

    flood: int
    limited: int
    others: int
    every: float
    concurrency: int


SIZES = {
    "small": Size(240, limited=12, others=8, every=0.2, concurrency=8),
    "full": Size(10_000, limited=150, others=60, every=0.5, concurrency=20),
}


@dataclass(slots=True)
class _Seen:
    """What was seen while it went on.

    Attributes:
        others: The runs that must not be starved.
        met: How many of them came while the flood was waiting.
        over: How often more than ``AT_ONCE`` of the limited workspace were at work.
        most: Runs of the flood that waited at one time.
    """

    others: list[UUID] = field(default_factory=list)
    met: int = 0
    over: int = 0
    most: int = 0


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Flood and judge."""
    how = SIZES[size]
    with rig(directory, workers=2, model_ms=MODEL_MS, concurrency=how.concurrency) as on:
        limited, others = _neighbour(on), _neighbour(on)
        limited.tier = Tier.objects.create(name=f"few-{limited.slug}", runs_at_once=AT_ONCE)
        limited.save()
        before = on.wire.stats()["requests"]
        began = time.monotonic()
        with ThreadPoolExecutor(SUBMITTERS + 1) as clients:
            floods = [
                clients.submit(_start_all, on.workspace, f"r21-{seed}-{n}", how.flood // SUBMITTERS)
                for n in range(SUBMITTERS)
            ]
            floods.append(clients.submit(_start_all, limited, f"r21-few-{seed}", how.limited))
            seen = _watch(on, how, others, limited, seed=seed)
        accepted = [*seen.others, *(run for each in floods for run in each.result())]
        _drain(on, seen, limited)
        took = time.monotonic() - began
        asked = on.wire.stats()["requests"] - before
    verdict = Verdict()
    ended = Run.objects.filter(pk__in=accepted)
    succeeded = ended.filter(status=RunStatus.SUCCEEDED).count()
    waited = _waited(seen.others)
    if seen.met < MET * len(seen.others):
        verdict.invalid.append(f"only {seen.met} of {len(seen.others)} runs met the flood")
    return report.row(
        "R21",
        runs=len(accepted),
        seed=seed,
        figure={
            "lost": len(accepted) - ended.filter(status__in=TERMINAL).count(),
            "not_succeeded": len(accepted) - succeeded,
            "model_calls_repeated": max(0, asked - len(accepted)),
            "other_start_p95_s": round(percentile(waited, 0.95), 2),
            "over_the_limit": seen.over,
            "processes_lost": on.supervisor.own_exits,
        },
        target={"other_start_p95_s": START_P95_SECONDS},
        verdict=verdict,
        also={
            "other_start_p50_s": round(percentile(waited, 0.5), 2),
            "other_start_max_s": round(max(waited), 2),
            "others": len(waited),
            "flood_waiting_most": seen.most,
            "flood_start_p95_s": round(percentile(_waited(accepted[len(seen.others) :]), 0.95), 2),
            "runs_a_second": round(len(accepted) / took, 1),
        },
    )


def _neighbour(on: Rig) -> Workspace:
    """Another workspace whose agents use the same queue."""
    found = workspace_of_couriers(f"{on.queue}-{secrets.token_hex(3)}")
    found.agents.update(queue=on.queue)
    return found


def _start(workspace: Workspace, name: str) -> UUID:
    return start_run(workspace, f"[[run: {name}]] [[text: Done.]]", agent=COURIER)


def _start_all(workspace: Workspace, name: str, runs: int) -> list[UUID]:
    """What one client starts, one after the other."""
    try:
        return [_start(workspace, f"{name}-{number}") for number in range(runs)]
    finally:
        connections.close_all()


def _watch(on: Rig, how: Size, others: Workspace, limited: Workspace, *, seed: int) -> _Seen:
    """Start the others' runs one after the other, until the flood is through."""
    seen = _Seen()
    waiting = Run.objects.filter(workspace=on.workspace, status=RunStatus.QUEUED)
    at_work = Run.objects.filter(workspace=limited, status=RunStatus.RUNNING)
    while not waiting.exists():
        time.sleep(0.01)
    due = time.monotonic()
    while waiting.exists() or len(seen.others) < how.others:
        on.supervisor.tend()
        seen.over += at_work.count() > AT_ONCE
        if time.monotonic() >= due:
            due += how.every
            backlog = waiting.count()
            seen.most = max(seen.most, backlog)
            seen.met += backlog > 0
            seen.others.append(_start(others, f"r21-other-{seed}-{len(seen.others)}"))
        time.sleep(0.02)
    return seen


def _drain(on: Rig, seen: _Seen, limited: Workspace) -> None:
    """Wait until all have ended, or none has for a while."""
    everyone = Run.objects.filter(queue=on.queue, finished_at__isnull=True)
    at_work = Run.objects.filter(workspace=limited, status=RunStatus.RUNNING)
    until, left = time.monotonic() + QUIET_SECONDS, -1
    while (unfinished := everyone.count()) and time.monotonic() < until:
        if unfinished != left:
            until, left = time.monotonic() + QUIET_SECONDS, unfinished
        on.supervisor.tend()
        seen.over += at_work.count() > AT_ONCE
        time.sleep(0.05)
    say(f"{len(seen.others)} runs of others, {seen.met} met the flood of up to {seen.most}")


def _waited(runs: list[UUID]) -> list[float]:
    """Seconds from being accepted to being started, by the database's clock."""
    rows = Run.objects.filter(pk__in=runs).values_list("created_at", "started_at", "finished_at")
    found = [(created, started or finished) for created, started, finished in rows]
    return [(at - created).total_seconds() for created, at in found if at is not None]
