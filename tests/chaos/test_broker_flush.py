"""A small R3; ``make chaos ONLY=R3`` flushes for five minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import broker_flush, report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_a_valkey_that_loses_everything_loses_no_run_and_doubles_nothing(tmp_path: Path) -> None:
    row = broker_flush.play("small", seed=3, directory=tmp_path)
    assert row["pass"], report.table([row])
