"""The checker's own test: with each of three planted bugs, what it sees is not what was promised.

Without them the same load passes: those are the small R1 and R7.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from tests.chaos import zombies
from tests.chaos.checker import check
from tests.chaos.crashes import agent_tools as crashes
from tests.chaos.crashes.planted import Bug, unfenced
from tests.chaos.load import Load
from tests.chaos.records import read_effects
from tests.chaos.rig import rig
from tests.chaos.toolbox import agent_tools as toolbox
from tests.fleet import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.checker import Verdict

LEASE = 2.0
#: What R1 promises: a lease, a sweep and three seconds; and some more to end in.
RECOVERY_SECONDS = LEASE + 0.5 + 3.0 + 1.5

PLAYS = 6


def killed_with(bug: Bug, directory: Path) -> Verdict:
    """R1's load with the bug in its workers, one of which dies while its tools act."""
    settings = {
        "HEARTBIT_EXTRA_APPS": f"{toolbox.__package__},{crashes.__package__}",
        "HEARTBIT_LEASE_SECONDS": str(LEASE),
        "CHAOS_PLANTED": bug,
    }
    with rig(directory, workers=2, model_ms=50, effect_ms=1500, settings=settings) as on:
        load = Load(on.workspace, bug, on.effects.url, runs=8, at_once=8, script=("R",))
        load.submit()
        wait_until(lambda: len(read_effects(directory / "effects.jsonl")) >= 6, what="effects")
        kill = on.supervisor.kill_one(random.Random(1))  # noqa: S311  repeatable, not secret
        assert kill is not None
        give_up = time.monotonic() + RECOVERY_SECONDS
        while load.unfinished() and time.monotonic() < give_up:
            time.sleep(0.1)
        return check(on.collect(load.ids, kills=[kill]))


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_effects_without_intents_are_found(tmp_path: Path) -> None:
    # Of few kills none may hit an effect, on a busy machine: then others get a chance.
    for play in range(PLAYS):
        directory = tmp_path / str(play)
        directory.mkdir()
        verdict = killed_with(Bug.NO_INTENT, directory)
        if verdict.doubled:
            break
    assert verdict.doubled
    assert any("had its effect 2 times" in fault for fault in verdict.faults)


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_runs_that_only_a_message_remembers_are_found(tmp_path: Path) -> None:
    verdict = killed_with(Bug.NO_SWEEPER, tmp_path)
    assert verdict.lost
    assert any("is lost: " in fault for fault in verdict.faults)


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_writes_of_a_zombie_are_found(tmp_path: Path) -> None:
    # Of few zombies all may come when their runs have ended: then others get a chance.
    for seed in range(7, 7 + PLAYS):
        directory = tmp_path / str(seed)
        directory.mkdir()
        with unfenced():
            row = zombies.play("small", seed=seed, directory=directory)
        if row["figure"]["stale_writes_accepted"]:
            break
    assert not row["pass"]
    assert row["figure"]["stale_writes_accepted"]
