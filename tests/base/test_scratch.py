"""Folders of a process that was killed are removed by the next one; those in use stay."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from heartbit_site.base import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

HOLD = """
import sys, time
from heartbit_site.base.scratch import ScratchFolder
print(ScratchFolder("test").path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory for temporary files of the test's own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    tempfile.tempdir = None


def test_only_folders_of_ended_processes_are_removed(place: Path) -> None:
    holders = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    folders = [Path((each.stdout or sys.stdin).readline().strip()) for each in holders]
    (folders[0] / "inner").mkdir()
    foreign = place / "heartbit-test-of-another-version"
    foreign.mkdir()
    holders[0].kill()
    holders[0].wait()
    scratch.sweep("test")
    assert folders[0].exists(), "it may have been made a moment ago"
    scratch.sweep("test", least_age_seconds=0)
    assert sorted(place.iterdir()) == sorted([folders[1], foreign])
    for each in holders:
        each.communicate()
    with scratch.scratch_folder("test") as own:
        scratch.sweep("test", least_age_seconds=0)
        assert sorted(place.iterdir()) == sorted([own, foreign])
    assert not own.exists()
