"""A small R21; ``make chaos ONLY=R21`` floods with ten thousand runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import flood, report

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.chaos
@pytest.mark.usefixtures("database")
def test_given_a_flood_of_one_workspace_then_another_one_s_runs_start_at_once(
    tmp_path: Path,
) -> None:
    row = flood.play("small", seed=21, directory=tmp_path)
    assert row["pass"], report.table([row])
