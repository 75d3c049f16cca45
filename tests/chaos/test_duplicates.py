"""A small R6; ``make chaos ONLY=R6`` plays a thousand runs, with copies up to two leases late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import duplicates, report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_messages_that_come_three_times_cause_nothing_twice(tmp_path: Path) -> None:
    row = duplicates.play("small", seed=6, directory=tmp_path)
    assert row["pass"], report.table([row])
