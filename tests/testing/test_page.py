"""docs/howto/test-your-agents.md, done as it says: a test, a recording, and the replay."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import pytest

from agents.models import Run
from tests.testing.page import EXAMPLES, PAGE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.command import Command

WRITTEN, RECORDED = EXAMPLES[:2]
CASSETTE = "cassettes/where-is-a1.json"


def passes(folder: Path, *, passed: int) -> str:
    """Run pytest in a project of its own, on the installation under test; return what it said."""
    environment = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others take seconds to import
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "heartbit_site.testing.plugin"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        env=environment,
        check=False,
    )
    assert f"{passed} passed" in ended.stdout, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("database")
def test_the_page_s_test_passes_is_recorded_and_is_replayed(
    heartbit: Command, tmp_path: Path
) -> None:
    assert CASSETTE in PAGE
    (tmp_path / "test_clerk.py").write_text(WRITTEN)
    passes(tmp_path, passed=1)
    run = Run.objects.filter(task="Where is order A1?").latest("created_at")
    assert run.workspace.slug.startswith("test-")

    (tmp_path / "cassettes").mkdir()
    path = tmp_path / CASSETTE
    export = ("runs", "export", str(run.pk), "--workspace", run.workspace.slug)
    assert heartbit(*export, "--cassette", str(path)).code == 0
    call = {"tool": "order_status", "arguments": '{"number": "A1"}'}
    assert json.loads(path.read_text()) == {
        "format": 1,
        "runs": [
            {
                "agent": "clerk",
                "task": "Where is order A1?",
                "answers": [
                    {"text": "", "calls": [call]},
                    {"text": "It is on its way.", "calls": []},
                ],
            }
        ],
    }
    again = heartbit(*export, "--cassette", str(path))
    assert (again.code, "add --force to replace it" in again.err) == (2, True)

    (tmp_path / "test_clerk.py").write_text(f"{WRITTEN}\n\n{RECORDED}")
    passes(tmp_path, passed=2)


def test_pytest_finds_the_plugin_by_itself() -> None:
    found = {entry.name: entry.value for entry in entry_points(group="pytest11")}
    assert found["heartbit"] == "heartbit_site.testing.plugin"
