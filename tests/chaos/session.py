"""Runs scenarios one after the other; what a failed one left behind is kept."""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from django.conf import settings

from tests.chaos import (
    broker_down,
    broker_flush,
    duplicates,
    early_death,
    poison,
    postgres_restart,
    rolling_restart,
    worker_kill,
    zombies,
)
from tests.chaos.cancel_race import scenario as cancel_race
from tests.chaos.clocks import beats, jumps
from tests.chaos.crash_points import scenario as crash_points
from tests.chaos.exhaustion import scenario as exhaustion
from tests.chaos.machine import scenario as machine
from tests.chaos.model_faults import scenario as model_faults
from tests.chaos.parsers import scenario as parsers
from tests.chaos.replay import scenario as replay
from tests.chaos.soak import scenario as soak
from tests.chaos.stalls import Stalls
from tests.installation import BUILD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Play(Protocol):
    """A scenario: leaves its ledgers in the directory and returns its row."""

    def __call__(self, size: str, *, seed: int, directory: Path) -> dict[str, Any]: ...


SCENARIOS: dict[str, Play] = {
    "R1": worker_kill.play,
    "R2": crash_points.play,
    "R3": broker_flush.play,
    "R4": broker_down.play,
    "R5": postgres_restart.play,
    "R6": duplicates.play,
    "R7": zombies.play,
    "R8": early_death.play,
    "R9": poison.play,
    "R10": jumps.play,
    "R11": beats.play,
    "R14": cancel_race.play,
    "R15": model_faults.play,
    "R18": rolling_restart.play,
    "R19": replay.play,
    "R20": machine.play,
    "R21": exhaustion.play,
    "R22": soak.play,
    "S12": parsers.play,
}

#: They take too long to be among all the others.
WHEN_NAMED = frozenset({"R22"})
#: How often a scenario is played again whose machine stood still.
REPLAYS = 3


def play(
    names: Sequence[str], *, size: str, seed: int, runs: int | None
) -> Iterator[dict[str, Any]]:
    """The rows of these scenarios.

    Args:
        names: Keys of ``SCENARIOS``.
        size: ``small`` (as inside the tests) or ``full``.
        seed: What their dice are thrown with.
        runs: Overrides the number of R1's runs.
    """
    scenarios = {**SCENARIOS, "R1": partial(worker_kill.play, runs=runs)}
    for name in names:
        row = _kept(name, scenarios[name], size=size, seed=seed)
        excuses: list[str] = []
        while not row["pass"] and row.get("excuse") and len(excuses) < REPLAYS:
            excuses.append(row["excuse"])
            sys.stderr.write(f"chaos: {name} is played again: {row['excuse']}\n")
            row = _kept(name, scenarios[name], size=size, seed=seed + len(excuses))
        yield row | ({"replayed": excuses} if excuses else {})


def _kept(name: str, scenario: Play, *, size: str, seed: int) -> dict[str, Any]:
    """Play in a directory that stays when the scenario fails.

    A row that failed beside a machine that stood still has the ``excuse``: it proves nothing
    either way.
    """
    with tempfile.TemporaryDirectory(prefix="chaos") as temporary:
        directory = Path(temporary)
        with Stalls(settings.DATABASE_DIRECT_URL) as stalls:
            row = scenario(size, seed=seed, directory=directory)
        if not row["pass"]:
            kept = BUILD / f"chaos-{name}-{seed}"
            shutil.copytree(directory, kept, dirs_exist_ok=True)
            row["kept"] = str(kept.relative_to(BUILD.parent))
            row["excuse"] = stalls.excuse
        return row | {"longest_stall_s": round(stalls.longest, 2)}
