"""A small R18 with every run of the tests; ``make chaos ONLY=R18`` is the large one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import report, rolling_restart

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_workers_that_are_told_to_leave_leave_nothing_behind(tmp_path: Path) -> None:
    row = rolling_restart.play("small", seed=1, directory=tmp_path)
    assert row["pass"], report.table([row])
