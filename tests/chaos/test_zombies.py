"""A small R7; ``make chaos ONLY=R7`` freezes two hundred slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import report, zombies

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_a_worker_that_thaws_after_its_lease_writes_nothing_and_begins_anew(tmp_path: Path) -> None:
    # Of few zombies none may come to write before it hears: then others get a chance.
    for seed in range(7, 10):
        directory = tmp_path / str(seed)
        directory.mkdir()
        row = zombies.play("small", seed=seed, directory=directory)
        if not row["also"]["invalid"]:
            break
    assert row["pass"], report.table([row])
