"""A small R20 with every run of the tests; ``make chaos ONLY=R20`` is the large one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import report
from tests.chaos.machine import scenario

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_no_order_of_events_breaks_a_promise(tmp_path: Path) -> None:
    row = scenario.play("small", seed=20, directory=tmp_path)
    assert row["pass"], report.table([row]) + (tmp_path / "steps.txt").read_text()
