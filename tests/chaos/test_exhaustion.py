"""A small R21, part by part; ``make chaos ONLY=R21`` floods with ten thousand runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.chaos import report
from tests.chaos.exhaustion import few_files, flood, full_disk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.chaos, pytest.mark.usefixtures("database")]


def test_given_a_flood_of_one_workspace_then_another_one_s_runs_start_at_once(
    tmp_path: Path,
) -> None:
    row = flood.play("small", seed=21, directory=tmp_path)
    assert row["pass"], report.table([row])


def test_given_a_full_disk_then_runs_wait_and_go_on_when_there_is_room(tmp_path: Path) -> None:
    row = full_disk.play("small", seed=21, directory=tmp_path)
    assert row["pass"], report.table([row])


def test_given_no_files_to_open_then_runs_go_on_when_there_are(tmp_path: Path) -> None:
    row = few_files.play("small", seed=21, directory=tmp_path)
    assert row["pass"], report.table([row])
