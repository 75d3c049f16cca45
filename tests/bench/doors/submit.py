"""``heartbit submit --watch``: a command a run, from its start to its exit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.checks import check
from tests.bench.doors import Door

if TYPE_CHECKING:
    from tests.bench.workloads import Workload


class Submit(Door):
    """A person at a terminal, or a script."""

    name = "submit"
    floor = "bare Celery"
    place = 4
    turn = 1  # most of it is the start of Python, which no run changes

    def take(self, workload: Workload) -> float:
        """See ``Door``."""
        program = str(Path(sys.executable).with_name("heartbit"))
        command = [program, "submit", workload.task, "--agent", workload.agent]
        command += ["--watch", "--plain"]
        environment = {**os.environ, "HEARTBIT_WORKSPACE": self.workspace.slug}
        began = time.perf_counter()
        done = subprocess.run(command, env=environment, check=True, capture_output=True)
        seconds = time.perf_counter() - began
        check(done.stdout.decode().strip())
        return seconds

    def takes(self, workload: Workload) -> bool:
        """See ``Door``: a command has no conversation."""
        return workload.messages == 1
