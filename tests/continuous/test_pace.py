"""A ``paced`` test is played again only if it was late, and on a starved machine."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import pace
from tests.server_process import ROOT

if TYPE_CHECKING:
    from pathlib import Path

#: pytest without the project's options and without installed plugins, which take long to import.
PLAIN = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}

TOY = """
import time
from pathlib import Path
import pytest
import tests.pace

tests.pace.WINDOW_SECONDS = 0.05

def plays():
    with Path(__file__).with_name("plays").open("a+") as file:
        file.write("x")
        file.seek(0)
        return len(file.read())

def pressed(waited):
    # The kernel's file: the total is in microseconds, and it is always read whole.
    tests.pace.PRESSURE = Path(__file__).parent
    for name in ("cpu", "io"):
        written = tests.pace.PRESSURE / "written"
        written.write_text(f"some avg10=0 avg60=0 avg300=0 total={waited}\\n")
        written.rename(tests.pace.PRESSURE / name)

@pytest.fixture
def fresh():
    return []

pressed(0)

@MARK
def test_slow(fresh):
    assert not fresh, "every play has fixtures of its own"
    fresh.append(1)
    number = plays()
    if STARVED:
        pressed(number * 60_000_000)
    if number <= FAILS:
        FAILURE
"""

LATE = "tests.pace.in_time(300, 2)"  # late on any processor
#: Failures that say something about the code, however slow the machine is.
WRONG = {
    "a wrong value": "assert 1 == 2",
    "an error": "raise ValueError",
    "what never happened": "raise TimeoutError",
    "a wrong value in a measured block": """with tests.pace.within(0):
            assert 1 == 2""",
}


def play(
    directory: Path, *, fails: int, starved: bool, mark: str = "paced", failure: str = LATE
) -> tuple[int, str]:
    """Run a toy test that fails so often; its plays and the output."""
    text = TOY.replace("FAILS", str(fails)).replace("STARVED", str(starved))
    text = text.replace("FAILURE", failure)
    (directory / "test_toy.py").write_text(text.replace("@MARK", f"@pytest.mark.{mark}"))
    (directory / "pytest.ini").write_text("[pytest]\nmarkers =\n    paced\n    plain\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.pace", "-p", "no:cacheprovider"],
        check=False,
        capture_output=True,
        text=True,
        cwd=directory,
        env=PLAIN,
    )
    return len((directory / "plays").read_text()), done.stdout


def test_given_a_starved_machine_then_a_failure_is_played_again_and_named(tmp_path: Path) -> None:
    plays, said = play(tmp_path, fails=2, starved=True)
    assert plays == 3
    assert "1 passed" in said
    assert "PLAYED AGAIN: test_toy.py::test_slow" in said


def test_given_a_starved_machine_then_a_test_that_always_fails_still_does(tmp_path: Path) -> None:
    plays, said = play(tmp_path, fails=99, starved=True)
    assert plays == pace.REPLAYS + 1
    assert "1 failed" in said


@pytest.mark.parametrize(
    ("starved", "mark"), [(False, "paced"), (True, "plain")], ids=["full pace", "not paced"]
)
def test_given_no_excuse_then_a_failure_counts_at_once(
    tmp_path: Path, *, starved: bool, mark: str
) -> None:
    plays, said = play(tmp_path, fails=1, starved=starved, mark=mark)
    assert plays == 1
    assert "1 failed" in said


@pytest.mark.parametrize("failure", WRONG.values(), ids=WRONG)
def test_given_a_starved_machine_then_what_is_not_merely_late_fails_at_once(
    tmp_path: Path, failure: str
) -> None:
    plays, said = play(tmp_path, fails=1, starved=True, failure=failure)
    assert plays == 1
    assert "1 failed" in said


def test_a_block_is_late_only_when_it_took_as_long() -> None:
    with pace.within(60):
        pass
    with pytest.raises(pace.Late, match=r"and may take 0 s"), pace.within(0):
        pass


def test_a_slow_processor_has_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "slowness", lambda: 2.0)
    pace.in_time(1.9, 1)
    with pytest.raises(pace.Late, match=r"it took 2\.1 s, and may take 2 s"):
        pace.in_time(2.1, 1)
