"""Worker processes by the hundred: forks of a process that has imported everything already.

A start of ``heartbit serve`` is mostly imports. A fork of this has its own process id, heartbeat
row and connections; nothing but how it got its modules differs.

    python -m tests.chaos.nursery   reads {"queues": ..., "concurrency": ..., "log": ...}, or {};
                                    writes {"pid": of the new worker, "alive": all of them}
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from tests.server_process import ROOT  # and not from tests.fleet, which needs Django

if TYPE_CHECKING:
    from pathlib import Path

#: What a worker imports only when it begins.
_LATE = (
    *("agents.tasks", "scheduling.tasks", "heartbit_site.celery_pool", "heartbit_site.local_model"),
    *("celery.apps.worker", "celery.worker.components", "celery.worker.consumer.consumer"),
    *("celery.worker.autoscale", "celery.worker.control", "celery.worker.strategy"),
    *("celery.worker.pidbox", "celery.worker.request", "celery.worker.consumer.gossip"),
    *("celery.worker.consumer.delayed_delivery", "celery.worker.consumer.mingle"),
    *("celery.app.events", "celery.app.control", "celery.app.amqp", "celery.app.log"),
    *("celery.contrib.django.task", "celery.events.receiver", "kombu.asynchronous.hub"),
    *("celery.concurrency.thread", "celery.utils.debug", "billiard.pool"),
)


class Nursery:
    """The forking process, and every worker that came of it."""

    def __init__(self, environment: dict[str, str], *, log: Path) -> None:
        # Django's checks, of every route there is, take most of a start.
        self._environment = {**os.environ, **environment, "CELERY_SKIP_CHECKS": "1"}
        self._log = log

    def __enter__(self) -> Self:
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.nursery"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env=self._environment,
                text=True,
            )
        self._answer()
        return self

    def __exit__(self, *_: object) -> None:
        deadline = time.monotonic() + 15
        for pid in self.alive():
            os.kill(pid, signal.SIGTERM)
        while self.alive() and time.monotonic() < deadline:
            time.sleep(0.05)
        self._process.communicate(timeout=10)  # it kills those that are left

    def _ask(self, order: dict[str, object]) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the nursery has ended, see {self._log}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def alive(self) -> frozenset[int]:
        """The workers that have not ended."""
        return frozenset(self._ask({})["alive"])

    def spawn(self, queues: str, *, concurrency: int = 1) -> int:
        """Start a worker; its process id. It is not registered yet."""
        order = {"queues": queues, "concurrency": concurrency, "log": str(self._log)}
        return int(self._ask(order)["pid"])


def main() -> None:
    """Fork until the input ends."""
    importlib.import_module("heartbit_site.cli.installation.startup").ensure_ready(
        "heartbit_site.cli.serving.worker"
    )
    for name in _LATE:
        importlib.import_module(name)
    importlib.import_module("django.db").connections.close_all()
    gc.freeze()
    sys.stdout.write("{}\n")
    sys.stdout.flush()
    born: set[int] = set()
    while line := sys.stdin.readline():
        order = json.loads(line)
        _reap(born)
        pid = 0
        if order:
            pid = os.fork()
            if not pid:
                _work(**order)
            born.add(pid)
        sys.stdout.write(json.dumps({"pid": pid, "alive": list(born)}) + "\n")
        sys.stdout.flush()
    _reap(born)
    for pid in born:  # whoever asked for them is gone
        os.kill(pid, signal.SIGKILL)


def _reap(born: set[int]) -> None:
    """Forget who has ended. Until then their ids are nobody else's."""
    for pid in tuple(born):
        if os.waitpid(pid, os.WNOHANG)[0]:
            born.discard(pid)


def _work(*, queues: str, concurrency: int, log: str) -> None:
    """Be a worker, to the end of this process."""
    nothing, out = os.open(os.devnull, os.O_RDONLY), os.open(log, os.O_WRONLY | os.O_APPEND)
    for number, file in ((0, nothing), (1, out), (2, out)):
        os.dup2(file, number)
    worker: Any = importlib.import_module("heartbit_site.cli.serving.worker")
    code = 1
    try:
        code = worker.serve(concurrency=concurrency, queues=queues, loglevel="warning", health=None)
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
