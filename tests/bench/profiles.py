"""Where the time of a missed target goes: a sampling profile of the process under load."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.installation import BUILD

if TYPE_CHECKING:
    from collections.abc import Callable

SHOWN = 15
SAMPLES_A_SECOND = 400
#: For a process with hundreds of threads, which costs milliseconds a sample.
SELDOM = 50


def profile(
    name: str,
    pid: int,
    *,
    seconds: float,
    load: Callable[[], object],
    rate: int = SAMPLES_A_SECOND,
) -> str:
    """Sample a process while ``load`` is repeated; the name of the file with the top functions.

    Args:
        name: Of the file, in part.
        pid: The process; it is stopped for each sample, for longer the more threads it has.
        seconds: How long.
        load: What it is to work on.
        rate: Samples a second.
    """
    BUILD.mkdir(exist_ok=True)
    report = BUILD / f"profile-{name}.txt"
    program = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or "py-spy"
    raw = BUILD / f"profile-{name}.raw"
    command = [program, "record", "--pid", str(pid), "--duration", str(math.ceil(seconds))]
    command += ["--rate", str(rate), "--format", "raw", "--output", str(raw)]
    command += ["--gil", "--function"]  # a thread that waits for nothing but its turn is no cost
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as spy:
        while spy.poll() is None:
            load()
        said = spy.stdout.read() if spy.stdout else ""
    if spy.returncode != 0 or not raw.exists():
        report.write_text(f"py-spy could not look into process {pid}:\n{said}")
        return report.name
    report.write_text(summary(raw.read_text()))
    raw.unlink()
    return report.name


def summary(raw: str) -> str:
    """The top functions of collapsed stacks."""
    own: Counter[str] = Counter()
    below: Counter[str] = Counter()
    for line in raw.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = stack.split(";")
        own[frames[-1]] += int(count)
        for frame in set(frames):
            below[frame] += int(count)
    total = sum(own.values())
    lines = [f"{total} samples of the interpreter at work", "", "own time"]
    lines += [f"{n / total:6.1%}  {frame}" for frame, n in own.most_common(SHOWN)]
    lines += ["", "with everything below"]
    lines += [f"{n / total:6.1%}  {frame}" for frame, n in below.most_common(4 * SHOWN)]
    return "\n".join(lines) + "\n"
