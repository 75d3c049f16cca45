"""A small R1 with every run of the tests; ``make chaos ONLY=R1`` is the large one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import report, worker_kill

if TYPE_CHECKING:
    from pathlib import Path

SEED = 1


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_workers_killed_every_two_seconds_lose_and_double_nothing(tmp_path: Path) -> None:
    row = worker_kill.play("small", seed=SEED, directory=tmp_path)
    assert row["pass"], report.table([row])
