"""Run the tests of an area against a mutant, in a copy of the repository."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.mutants.mutant import Mutant

ROOT: Final = Path(__file__).parents[2]
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


def play(copy: Path, mutant: Mutant, tests: Sequence[str], *, seconds: float) -> Verdict:
    """Run the tests with the mutant in place, until one fails or the seconds are over."""
    file = copy / mutant.path
    source = file.read_bytes()
    mutated = mutant.applied_to(source)
    if file.suffix == ".py" and not _compiles(mutated):
        return Verdict.STILLBORN
    file.write_bytes(mutated)
    try:
        code, output = run_tests(copy, tests, seconds=seconds)
    finally:
        file.write_bytes(source)
    if code is TIMED_OUT:
        return Verdict.TIMED_OUT
    if code == GREEN:
        return Verdict.ALIVE
    is_kill = code == RED and not any(part in output for part in _NOT_PLAYED)
    return Verdict.DEAD if is_kill else Verdict.STILLBORN


def run_tests(
    copy: Path, tests: Sequence[str], *, seconds: float = MOST_SECONDS
) -> tuple[int | None, str]:
    """Run pytest in the copy; return its exit code, or ``TIMED_OUT``, and its output."""
    command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    process = subprocess.Popen(
        [*command, *tests],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return TIMED_OUT, output
    return process.returncode, output


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True
