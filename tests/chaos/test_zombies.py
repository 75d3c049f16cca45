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
    row = zombies.play("small", seed=7, directory=tmp_path)
    assert row["pass"], report.table([row])
