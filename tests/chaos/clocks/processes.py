"""Beats, and processes whose clock is wrong."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.fleet import wait_until
from tests.server_process import ROOT

_START = "beat: Starting..."
_RING = re.compile(r"Sending due task heartbit-schedule-\d+")


class Beats:
    """Some Celery Beats on the same database; whoever is killed is started again at once.

    Args:
        count: How many.
        log: What they say, all together.
        environment: What they have on top of this process's.
    """

    def __init__(self, count: int, *, log: Path, environment: dict[str, str] | None = None) -> None:
        self._log = log
        self._environment = {**os.environ, **(environment or {})}
        self._count = count
        self._running: list[subprocess.Popen[bytes]] = []
        self.killed = 0

    def __enter__(self) -> Self:
        self._running = [self._start() for _ in range(self._count)]
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._running:
            one.kill()
        for one in self._running:
            one.wait(timeout=10)

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "-A", "heartbit_site.celery", "beat"]
        command += ["--loglevel", "info", "--pidfile="]
        with self._log.open("a") as log:
            return subprocess.Popen(
                command, env=self._environment, cwd=ROOT, stdout=log, stderr=log
            )

    def wait_until_started(self) -> None:
        """Wait until every beat that runs has read the schedules."""
        started = self._count + self.killed
        wait_until(lambda: self._said().count(_START) >= started, seconds=90, what="beats")

    def _said(self) -> str:
        return self._log.read_text(errors="replace")

    def kill_next(self) -> None:
        """SIGKILL the one that has lived longest, when all the others have started."""
        self.wait_until_started()
        oldest = self._running.pop(0)
        oldest.kill()
        oldest.wait(timeout=10)
        self.killed += 1
        self._running.append(self._start())

    @property
    def rings(self) -> int:
        """How often they rang for people's schedules."""
        return len(_RING.findall(self._said()))


class WrongClock:
    """Makes the time of day of processes jump while they run; what they wait for stays.

    Args:
        directory: Where the offset is kept.
    """

    def __init__(self, directory: Path) -> None:
        found = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
        assert found, "the time of a process cannot be changed: apt-get install libfaketime"
        self._offset = directory / "offset"
        self.jump(0)
        self.environment = {
            "LD_PRELOAD": str(found[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._offset),
            # Seconds for which it need not read the offset again: to read a file for each look at a
            # clock made the process so slow that its heartbeats timed out on a slow machine.
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "PYTHONPATH": str(Path(__file__).with_name("sleeping")),
        }

    def jump(self, seconds: float) -> None:
        """Let them believe that it is so much later than it is, within a second."""
        fresh = self._offset.with_suffix(".new")
        fresh.write_text(f"{seconds:+.0f}")
        fresh.rename(self._offset)
