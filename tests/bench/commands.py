"""COMMANDS: time from a command's start to its exit, with all services running.

Most of it is the start of Python and imports; the time of ``python -c pass`` stands beside it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench import bulk, flow
from tests.bench.crew import Crew, Posts
from tests.bench.figures import Figure, Row
from tests.bench.flow import Job
from tests.bench.said import say
from tests.bench.workloads import SOLO

if TYPE_CHECKING:
    from tests.bench.plan import Plan

HELP_MS = 400.0
STATUS_MS = 350.0
LISTED = 20
WARM_UP = 2
GIVE_UP_SECONDS = 60.0
_HEARTBIT = str(Path(sys.executable).with_name("heartbit"))
_COMMANDS = {
    "help": [_HEARTBIT, "--help"],
    "status": [_HEARTBIT, "status"],
    "python": [sys.executable, "-c", "pass"],
}


def measure(plan: Plan) -> Row:
    """Its row: the medians of interleaved commands."""
    say("COMMANDS: heartbit --help, and a list of runs")
    with Crew(Posts()) as crew:
        [run] = crew.flow.at_once([Job(SOLO, "Hello.")])
        flow.wait_ended([run], seconds=GIVE_UP_SECONDS)
        bulk.finished(run, count=LISTED, seconds=GIVE_UP_SECONDS)
        # As at a person's terminal; the tests' own app would bring all others along.
        environment = {**os.environ, "HEARTBIT_WORKSPACE": crew.workspace.slug}
        environment.pop("HEARTBIT_EXTRA_APPS", None)
        taken: dict[str, list[float]] = {name: [] for name in _COMMANDS}
        for _ in range(plan.runs + WARM_UP):
            for name, command in _COMMANDS.items():
                taken[name].append(_ms(command, environment))
        bulk.remove(crew.workspace.pk)
    medians = {name: statistics.median(times[WARM_UP:]) for name, times in taken.items()}
    figures = (
        Figure("heartbit --help, p50", medians["help"], target=HELP_MS),
        Figure("heartbit status, p50", medians["status"], target=STATUS_MS),
    )
    return Row("COMMANDS", "terminal", figures, {"python_ms": round(medians["python"], 1)})


def _ms(command: list[str], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return (time.perf_counter() - began) * 1000
