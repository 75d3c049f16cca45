"""Workers may open no further file, so no socket to a model or the database; then they may again.

Their limit (``RLIMIT_NOFILE``) is lowered to what they have open, while they are at work.
"""

from __future__ import annotations

import resource
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.choices import RunStatus
from agents.models import Run
from tests.chaos import report
from tests.chaos.checker import judge
from tests.chaos.decider import Decider
from tests.chaos.load import Load
from tests.chaos.outages import Outage, finish, span_of
from tests.chaos.rig import Rig, rig
from tests.pace import Patience

if TYPE_CHECKING:
    from collections.abc import Iterator

TOO_MANY = "Too many open files"
#: A tool's complaint is one line of the log, with its kind alone.
COMPLAINTS = (TOO_MANY, "raised OSError", "raised ConnectError")
#: For a worker to meet the limit: files stay short until one did.
HIT_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        at_once: Runs that are unfinished at a time.
        spells: How often files are short.
        held: Seconds that they stay so.
        between: Seconds from one spell to the next.
    """

    runs: int
    at_once: int
    spells: int
    held: float
    between: float


SIZES = {
    "small": Size(24, at_once=12, spells=1, held=1.5, between=0.5),
    "full": Size(600, at_once=40, spells=8, held=8.0, between=5.0),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Take files away and judge."""
    how = SIZES[size]
    with rig(directory, workers=2, model_ms=200, effect_ms=100) as on:
        load = Load(
            on.workspace, f"r21f-{seed}", on.effects.url, runs=how.runs, at_once=how.at_once
        )
        outages = [_spell(on, load, how) for _ in range(how.spells)]
        with Decider(on.workspace, seed=seed, journal=on.decisions):
            load.finish(on.supervisor.tend)
            finish(on, load.ids)
        left = on.collect(load.ids)
        spans = [span_of(left.runs, outage) for outage in outages]
        left = on.collect(load.ids, kills=spans)
        told = _complaints(on)
    verdict = judge(left)
    ended = Run.objects.filter(pk__in=load.ids)
    if not told:
        verdict.invalid.append("no worker was short of files")
    return report.row(
        "R21",
        runs=len(load.ids),
        seed=seed,
        figure={
            **report.promises(verdict),
            "not_succeeded": ended.exclude(status=RunStatus.SUCCEEDED).count(),
            "processes_lost": left.own_exits,
        },
        target={},
        verdict=verdict,
        also={"spells": len(outages), "complaints": told},
    )


@contextmanager
def short_of_files(pids: list[int]) -> Iterator[None]:
    """These processes may open no further file for the length of the block."""
    former = {pid: resource.prlimit(pid, resource.RLIMIT_NOFILE) for pid in pids}
    for pid, (_, hard) in former.items():
        open_now = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        # Numbers that are taken stay so; what is opened needs one below the limit.
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_now // 2, hard))
    try:
        yield
    finally:
        for pid, limits in former.items():
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


def _spell(on: Rig, load: Load, how: Size) -> Outage:
    _submit(on, load, how.between)
    at, before, patience = time.time(), _complaints(on), Patience(HIT_SECONDS)
    with short_of_files(on.supervisor.pids()):
        _submit(on, load, how.held)
        # On a slow machine no worker may have asked for a file in that time.
        while _complaints(on) == before and patience:
            _submit(on, load, 0.1)
    return Outage("few files", at, time.time())


def _complaints(on: Rig) -> int:
    """How often workers have said that they were short of files."""
    log = on.supervisor.log.read_text()
    return sum(log.count(complaint) for complaint in COMPLAINTS)


def _submit(on: Rig, load: Load, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        load.submit()
        on.supervisor.tend()
        time.sleep(0.05)
