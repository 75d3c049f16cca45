"""Run the tests as CI does: failed tests are played a second time, alone and in order.

    python -m tests.ci OPTION...       the options of pytest

A test that passes the second time is printed as ``FLAKY: nodeid``. The exit code is 0 if every test
passed, the first or the second time. Only failures in a test's set-up and body are played again:
errors in a tear-down, files that cannot be collected and crashes end red at once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tests import outcomes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TESTS_FAILED: Final = 1  # pytest's exit code if tests failed, and nothing else went wrong
#: Phases of a test whose failure is played again; a tear-down often speaks of others' defects.
REPLAYED: Final = ("setup", "call")


class Outcome(NamedTuple):
    """One line of the plugin's file."""

    nodeid: str
    when: str
    outcome: str


def main(options: Sequence[str]) -> int:
    """Run pytest, replay what failed, and return the exit code."""
    with tempfile.TemporaryDirectory() as directory:
        first, second = Path(directory) / "first", Path(directory) / "second"
        code, seen = _pytest(options, first, {})
        failures = [one for one in seen if one.outcome == "failed"]
        if code != TESTS_FAILED or any(one.when not in REPLAYED for one in failures):
            return code
        failed = list(dict.fromkeys(one.nodeid for one in failures))
        _say(f"{len(failed)} failed; playing them once more, alone and in order")
        names = Path(directory) / "failed"
        names.write_text("\n".join(failed))
        files = dict.fromkeys(nodeid.partition("::")[0] for nodeid in failed)
        again = ["-p", "no:xdist", "-m", "", *files]
        code, seen = _pytest(again, second, {outcomes.ONLY: str(names)})
        passed = {one.nodeid for one in seen if (one.when, one.outcome) == ("call", "passed")}
        for nodeid in failed:
            _say(f"{'FLAKY' if nodeid in passed else 'FAILED TWICE'}: {nodeid}")
        return code or (0 if failed and passed.issuperset(failed) else TESTS_FAILED)


def _pytest(
    options: Sequence[str], file: Path, more: Mapping[str, str]
) -> tuple[int, list[Outcome]]:
    file.touch()
    command = [sys.executable, "-m", "pytest", "-p", outcomes.__name__, *options]
    settings = {**os.environ, **more, outcomes.VARIABLE: str(file)}
    code = subprocess.run(command, env=settings, check=False).returncode
    return code, [Outcome(**json.loads(line)) for line in file.read_text().splitlines()]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
