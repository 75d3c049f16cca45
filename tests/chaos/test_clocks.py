"""Small R10 and R11; ``make chaos ONLY=R10,R11`` plays them with 200 slots each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import report
from tests.chaos.clocks import beats, jumps

if TYPE_CHECKING:
    from pathlib import Path

PLAYS = 3

pytestmark = [pytest.mark.chaos, pytest.mark.usefixtures("database")]


def test_three_beats_that_die_fire_each_slot_once(tmp_path: Path) -> None:
    """Of few slots the workers' clocks may take all, on a busy machine: then it is played again."""
    for attempt in range(PLAYS):
        place = tmp_path / str(attempt)
        place.mkdir()
        row = beats.play("small", seed=11 + attempt, directory=place)
        if row["also"]["rings"]:
            break
    assert row["pass"], report.table([row])


def test_clocks_that_jump_steal_no_lease_and_miss_no_slot(tmp_path: Path) -> None:
    row = jumps.play("small", seed=10, directory=tmp_path)
    assert row["pass"], report.table([row])
