"""A small R14; ``make chaos ONLY=R14`` runs a thousand races."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import report
from tests.chaos.cancel_race import scenario

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_a_cancel_races_with_its_run_and_exactly_one_thing_comes_of_it(tmp_path: Path) -> None:
    row = scenario.play("small", seed=14, directory=tmp_path)
    assert row["pass"], report.table([row])
