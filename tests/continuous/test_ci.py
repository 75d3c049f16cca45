"""``python -m tests.ci`` on toy tests: what is played twice, and what is red at once."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.server_process import ROOT

if TYPE_CHECKING:
    from pathlib import Path

#: pytest without the project's options and without installed plugins, which take long to import.
PLAIN = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(ROOT),
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}

XDIST = ("-p", "xdist", "-n", "2")
STEADY = "def test_steady():\n    pass\n"
#: Fails in the first run only: it finds the file that the first run leaves.
FLAKY = """
from pathlib import Path
import pytest
@pytest.mark.parametrize("word", ["a b", "[c]"])
def test_flaky(word, tmp_path_factory):
    mark = Path(__file__).with_name(f"played {word}")
    first = not mark.exists()
    mark.touch()
    assert not first
"""
BROKEN = "def test_broken():\n    assert 0\n"
UNPREPARED = """
import pytest
@pytest.fixture
def part():
    raise OSError
def test_unprepared(part):
    pass
"""
ERROR = """
import pytest
@pytest.fixture
def part():
    yield
    raise OSError
def test_error(part):
    pass
"""
CRASH = "import os\ndef test_crash():\n    os._exit(9)\n"
ENDED = "import pytest\ndef test_ended():\n    pytest.exit('enough', 3)\n"


def play(directory: Path, *options: str, **files: str) -> tuple[int, list[str]]:
    """Run the toy tests; the exit code and the lines on stdout."""
    (directory / "pytest.ini").write_text("[pytest]\n")
    for name, text in files.items():
        (directory / f"test_{name}.py").write_text(text)
    names = [f"test_{name}.py" for name in files]
    done = subprocess.run(
        [sys.executable, "-m", "tests.ci", "-p", "no:cacheprovider", *options, *names],
        check=False,
        capture_output=True,
        text=True,
        cwd=directory,
        env=PLAIN,
    )
    return done.returncode, done.stdout.splitlines()


def verdicts(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith(("FLAKY", "FAILED TWICE"))]


WORKERS = pytest.mark.parametrize("workers", [(), XDIST], ids=["alone", "xdist"])


@WORKERS
def test_given_tests_that_pass_then_they_are_played_once(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    code, lines = play(tmp_path, *workers, steady=STEADY)
    assert (code, verdicts(lines)) == (0, [])
    assert "1 passed" in lines[-1]


@WORKERS
def test_given_tests_that_fail_once_then_they_are_named_and_it_is_green(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    code, lines = play(tmp_path, *workers, steady=STEADY, flaky=FLAKY)
    assert code == 0, lines
    assert sorted(verdicts(lines)) == [
        "FLAKY: test_flaky.py::test_flaky[[c]]",
        "FLAKY: test_flaky.py::test_flaky[a b]",
    ]
    closings = [line for line in lines if line.startswith("=") and " in " in line]
    assert "2 failed, 1 passed" in closings[0]
    assert "2 passed" in closings[1]


def test_given_a_test_that_fails_twice_then_it_is_red(tmp_path: Path) -> None:
    code, lines = play(tmp_path, flaky=FLAKY, broken=BROKEN, unprepared=UNPREPARED)
    assert code == 1
    assert "FAILED TWICE: test_broken.py::test_broken" in lines
    assert "FAILED TWICE: test_unprepared.py::test_unprepared" in lines
    assert len(verdicts(lines)) == 4


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({"error": ERROR}, ()),
        ({"collect": "import nothing_of_that_name\n"}, ()),
        ({"collect": "import nothing_of_that_name\n"}, ("--continue-on-collection-errors",)),
        ({"crash": CRASH}, XDIST),
        ({"ended": ENDED}, ()),
    ],
    ids=["tear-down", "collection", "collection-continued", "crash", "ended"],
)
def test_given_more_than_failures_then_it_is_red_at_once(
    tmp_path: Path, files: dict[str, str], options: tuple[str, ...]
) -> None:
    code, lines = play(tmp_path, *options, flaky=FLAKY, **files)
    assert code != 0
    assert verdicts(lines) == []
    assert (tmp_path / "played a b").exists() or code != 1
