"""A small R5; ``make chaos ONLY=R5`` restarts PostgreSQL under two thousand runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import postgres_restart, report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_a_database_that_restarts_loses_no_run_and_keys_stay_true(tmp_path: Path) -> None:
    row = postgres_restart.play("small", seed=5, directory=tmp_path)
    assert row["pass"], report.table([row])
