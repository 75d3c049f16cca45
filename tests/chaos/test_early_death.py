"""A small R8; ``make chaos ONLY=R8`` lets two hundred workers die early."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import early_death, report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_a_run_whose_worker_died_before_its_first_heartbeat_is_reclaimed(tmp_path: Path) -> None:
    row = early_death.play("small", seed=8, directory=tmp_path)
    assert row["pass"], report.table([row])
