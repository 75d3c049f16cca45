"""A small R2; ``make chaos ONLY=R2`` plays every case ten times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import report
from tests.chaos.crash_points import scenario

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_a_worker_that_dies_at_a_boundary_leaves_what_the_table_says(tmp_path: Path) -> None:
    row = scenario.play("small", seed=2, directory=tmp_path)
    assert row["pass"], report.table([row])
