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
SECONDS: Final = 600  # for the tests of one mutant
GREEN, RED = 0, 1  # pytest's exit codes


class Verdict(Enum):
    """What became of a mutant."""

    DEAD = "dead"
    ALIVE = "alive"
    STILLBORN = "stillborn"  # it does not even load: no test is needed to notice


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


def play(copy: Path, mutant: Mutant, tests: Sequence[str]) -> Verdict:
    """Run the tests with the mutant in place, until one fails."""
    file = copy / mutant.path
    source = file.read_bytes()
    mutated = mutant.applied_to(source)
    if file.suffix == ".py" and not _compiles(mutated):
        return Verdict.STILLBORN
    file.write_bytes(mutated)
    try:
        code, output = run_tests(copy, tests)
    finally:
        file.write_bytes(source)
    if "syntax error at or near" in output:
        return Verdict.STILLBORN
    return Verdict.ALIVE if code == GREEN else Verdict.DEAD


def run_tests(copy: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run pytest in the copy; its exit code and output. Whoever hangs counts as failed."""
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
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return RED, output
    return process.returncode, output


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "mutant", "exec")
    except SyntaxError:
        return False
    return True
