"""The disk of the database is full, again and again, under runs and clients that insist.

PostgreSQL and everything else of the installation lie on a small file system in memory, which only
this scenario sees: it is played in a process with mounts of its own (``stage``). A file that takes
all that is left stands for whatever fills disks.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.api.server import WebServer
from tests.chaos import report
from tests.chaos.checker import judge
from tests.chaos.clients import ApiClient
from tests.chaos.couriers import COURIER, SHORT_SCRIPT, task
from tests.chaos.decider import Decider
from tests.chaos.insistence import Clients, broken_keys
from tests.chaos.outages import Outage, finish, span_of
from tests.chaos.rig import Rig, rig, say
from tests.server_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.chaos.insistence import Wish

NOTICED_SECONDS = 30.0
_PIECE = 1 << 20
#: What clients are told, and what is logged: the cause, and not its consequences.
SENTENCE = "The database's disk is full"
IN_THE_LOG = "No space left on device"


@dataclass(frozen=True, slots=True)
class Size:
    """How hard it gets.

    Attributes:
        per_second: Runs that are asked for a second.
        spells: How often the disk is full.
        held: Seconds that it stays so, once somebody has noticed.
        between: Seconds from one spell to the next.
    """

    runs: int
    per_second: float
    spells: int
    held: float
    between: float


SIZES = {
    "small": Size(24, per_second=6, spells=1, held=0.5, between=1.0),
    "full": Size(400, per_second=4, spells=4, held=20.0, between=8.0),
}


def play(size: str, *, seed: int, directory: Path) -> dict[str, Any]:
    """Fill and judge, in a process whose mounts nobody else sees; its row."""
    row = directory / "row.json"
    stage = [sys.executable, "-m", "tests.chaos.exhaustion.stage", size, str(seed), str(directory)]
    subprocess.run(["unshare", "--mount", "--", *stage, str(row)], cwd=ROOT, check=True)
    found: dict[str, Any] = json.loads(row.read_text())
    return found


def fill_and_judge(size: str, *, seed: int, directory: Path, disk: Path) -> dict[str, Any]:
    """The scenario itself.

    Args:
        size: A key of ``SIZES``.
        seed: Told apart by it.
        directory: Where ledgers stay; it is not on the disk.
        disk: Where the disk is mounted.
    """
    how = SIZES[size]
    with (
        rig(directory, workers=2, model_ms=100, effect_ms=50) as on,
        WebServer() as web,
        ApiClient(web, on.workspace) as api,
    ):
        clients = Clients(
            api,
            COURIER,
            lambda number: task(f"r21-{seed}-{number}", SHORT_SCRIPT, effects_url=on.effects.url),
            f"r21-{seed}",
            runs=how.runs,
            per_second=how.per_second,
        )
        with clients:
            outages = _fill(on, web, how, disk)
        wishes = clients.wishes()
        broken = list(broken_keys(wishes, api, COURIER, on.workspace))
        accepted = [wish.run for wish in wishes if wish.run is not None]
        # Asked what became of a call whose end could not be written, a person looks and says it.
        with Decider(on.workspace, seed=seed, journal=on.decisions):
            finish(on, accepted)
        left = on.collect(accepted)
        spans = [span_of(left.runs, outage) for outage in outages]
        left = on.collect(accepted, kills=spans)
    verdict = judge(left)
    verdict.faults += broken
    hidden = _hidden(wishes)
    verdict.faults += sorted({f"a client was told {said}" for said in hidden})
    return report.row(
        "R21",
        runs=len(accepted),
        seed=seed,
        figure={
            **report.promises(verdict),
            "not_accepted": sum(wish.run is None for wish in wishes),
            "answers_that_hide_what_happened": len(hidden),
            "processes_lost": left.own_exits,
        },
        target={},
        verdict=verdict,
        also={
            "spells": len(outages),
            "full_max_s": round(max(outage.back - outage.at for outage in outages), 2),
            "requests_refused": sum(len(wish.answers) - 1 for wish in wishes),
        },
    )


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Nothing more fits on the disk for the length of the block."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while shutil.disk_usage(disk).free:
                free = shutil.disk_usage(disk).free
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), min(free, _PIECE))
        except OSError as error:  # others write as well
            say(f"the disk is full ({error.strerror})")
        try:
            yield
        finally:
            filler.unlink()


def _fill(on: Rig, web: WebServer, how: Size, disk: Path) -> list[Outage]:
    outages: list[Outage] = []
    for _ in range(how.spells):
        _tend(on, how.between)
        before, at = _noticed(on, web), time.time()
        with full(disk):
            until = time.monotonic() + NOTICED_SECONDS
            while _noticed(on, web) == before and time.monotonic() < until:
                _tend(on, 0.1)
            _tend(on, how.held)
        outages.append(Outage("full disk", at, time.time()))
        assert _noticed(on, web) > before, "nobody noticed that the disk was full"
    return outages


def _tend(on: Rig, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        on.supervisor.tend()
        time.sleep(0.05)


def _noticed(on: Rig, web: WebServer) -> int:
    logs = (on.supervisor.log, web.log)
    return sum(log.read_text().count(IN_THE_LOG) for log in logs)


def _hidden(wishes: list[Wish]) -> list[str]:
    """What clients were told although it does not say what is wrong."""
    said = [one.detail for wish in wishes for one in wish.answers if one.run is None]
    # A database that had to restart over it is away for a moment.
    good = (f"503 {SENTENCE}", "503 The database is unavailable")
    return [one for one in said if not any(_tells(one, sentence) for sentence in good)]


def _tells(answer: str, sentence: str) -> bool:
    status, words = sentence.split(" ", 1)
    return answer.startswith(f"{status} ") and words in answer
