"""Run the tests of an area against a mutant, in a copy of the repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Self

from tests.forker import THIRD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.mutants.mutant import Mutant

ROOT: Final = Path(__file__).parents[2]
FORKING: Final = Path(__file__).with_name("forking.py")
#: What tests import besides what programs do.
LIBRARIES: Final = (*THIRD, "hypothesis.strategies", "playwright.sync_api")
OPTIONS: Final = (
    *("-x", "-q", "-p", "no:cacheprovider"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # of libraries that are imported already
)
#: For the tests of an area without a mutant.
MOST_SECONDS: Final = 3600.0
GREEN, RED = 0, 1  # pytest's exit codes; others mean that it could not play the tests
TIMED_OUT: Final = None
#: With ``-x`` a file that cannot be collected has the exit code of a test that failed.
_NOT_PLAYED: Final = ("syntax error at or near", "ERROR collecting")


class Verdict(Enum):
    """What became of a mutant."""

    DEAD = "dead"
    ALIVE = "alive"
    STILLBORN = "stillborn"  # it does not load, or pytest could not play the tests: says nothing
    TIMED_OUT = "timed out"  # it hangs, or the machine is slow: says nothing


@contextmanager
def repository() -> Iterator[Path]:
    """Yield a copy of the working tree's files, as git sees them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    with TemporaryDirectory(prefix="mutants") as name:
        copy = Path(name)
        copy.chmod(0o755)  # servers of another user read it
        for path in filter(None, listed.stdout.split("\0")):
            if (ROOT / path).is_file() and not path.endswith(".png"):
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, copy / path)
        yield copy


def seconds_for(baseline: float) -> float:
    """Return the limit for a mutant's tests, which take ``baseline`` seconds without one."""
    return 3 * baseline + 60


class Pytest:
    """Plays an area's tests in a copy of the repository, as forks of one process."""

    def __init__(self, copy: Path, libraries: Sequence[str] = LIBRARIES) -> None:
        """Start the process; each library is imported once, not for each mutant.

        Args:
            copy: Of the repository.
            libraries: Modules that no mutant changes.
        """
        self.copy = copy
        self._output = TemporaryDirectory(prefix="mutants")
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-P", str(FORKING), *libraries],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": str(copy)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        """Return itself; the process ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.communicate()
        self._output.cleanup()

    def run(self, tests: Sequence[str], *, seconds: float = MOST_SECONDS) -> tuple[int | None, str]:
        """Run pytest; return its exit code, or ``TIMED_OUT``, and its output."""
        assert self._process.stdin
        assert self._process.stdout
        output = Path(self._output.name) / "output"
        output.write_text("")
        order = {"arguments": [*OPTIONS, *tests], "output": str(output), "seconds": seconds}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that forks pytest has ended: its reason is on stderr"
        code = json.loads(answer)
        return code, output.read_text(errors="replace")

    def play(self, mutant: Mutant, tests: Sequence[str], *, seconds: float) -> Verdict:
        """Run the tests with the mutant in place, until one fails or the seconds are over."""
        file = self.copy / mutant.path
        source = file.read_bytes()
        mutated = mutant.applied_to(source)
        if file.suffix == ".py" and not _compiles(mutated):
            return Verdict.STILLBORN
        file.write_bytes(mutated)
        try:
            code, output = self.run(tests, seconds=seconds)
        finally:
            file.write_bytes(source)
        if code is TIMED_OUT:
            return Verdict.TIMED_OUT
        if code == GREEN:
            return Verdict.ALIVE
        is_kill = code == RED and not any(part in output for part in _NOT_PLAYED)
        return Verdict.DEAD if is_kill else Verdict.STILLBORN


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True
