"""What the mutation harness takes for a kill, and what not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.mutant import Mutant
from tests.mutants.play import Pytest, Verdict, seconds_for

SOURCE = "def one():\n    return 1\n"
TEST = "from m import one\n\n\ndef test_one():\n    assert one() == 1\n"
HANGS = "import time; time.sleep(600)"


@pytest.mark.parametrize(
    ("replacement", "test", "verdict"),
    [
        ("return 2", TEST, Verdict.DEAD),
        ("return int('1')", TEST, Verdict.ALIVE),
        ("return (", TEST, Verdict.STILLBORN),
        (f"return 1\n\n\n{HANGS}", TEST, Verdict.TIMED_OUT),
        (HANGS, TEST, Verdict.TIMED_OUT),
        ("return 1\n\n\nunknown", TEST, Verdict.STILLBORN),  # no file of tests can be collected
        ("return 2", "unknown\n", Verdict.STILLBORN),
        ("return 2", "", Verdict.STILLBORN),  # there is no test
        ("return 2", None, Verdict.STILLBORN),  # there is no such file
        ("import os; os._exit(3)", TEST, Verdict.STILLBORN),
        ("import os; os.kill(os.getpid(), 9)", TEST, Verdict.STILLBORN),
    ],
    ids=[
        *("fails", "passes", "no-python", "hangs-at-import", "hangs", "fails-at-import"),
        *("bad-tests", "no-test", "no-file", "exits", "is-killed"),
    ],
)
def test_only_a_test_that_fails_is_a_kill(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    replacement: str,
    test: str | None,
    verdict: Verdict,
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # plugins take seconds to load
    (tmp_path / "m.py").write_text(SOURCE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    if test is not None:
        (tmp_path / "test_m.py").write_text(test)
    start = SOURCE.index("return")
    mutant = Mutant(Path("m.py"), 2, start, len(SOURCE), replacement)
    seconds = 3 if verdict is Verdict.TIMED_OUT else 120
    with Pytest(tmp_path, libraries=[]) as player:
        assert player.play(mutant, ["test_m.py"], seconds=seconds) is verdict
    assert (tmp_path / "m.py").read_text() == SOURCE


def test_the_limit_follows_what_the_tests_take_without_a_mutant() -> None:
    assert (seconds_for(0), seconds_for(100)) == (60, 360)
