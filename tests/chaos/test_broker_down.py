"""A small R4; ``make chaos ONLY=R4`` kills Valkey twenty times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import broker_down, report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_a_broker_that_is_killed_frozen_or_full_costs_no_run_and_no_caller(tmp_path: Path) -> None:
    row = broker_down.play("small", seed=4, directory=tmp_path)
    assert row["pass"], report.table([row])
