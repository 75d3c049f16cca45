"""Real processes for tests: the fake provider and fleet workers, ended by their own ids."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import httpx

from agents.models import WorkerHeartbeat
from tests import prepared
from tests.pace import GaveUp, Patience
from tests.prepared import HEARTBIT
from tests.server_process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.prepared import Process


#: Between two looks, in seconds: most conditions ask the database, which takes processor time.
SHORTEST_PAUSE: Final = 0.02
LONGEST_PAUSE: Final = 0.1


def wait_until(condition: Callable[[], Any], *, seconds: float = 20.0, what: str = "") -> Any:
    """Poll until the condition holds, less often after a while; its value.

    Raises:
        GaveUp: It did not within the time.
    """
    patience = Patience(seconds)
    pause = SHORTEST_PAUSE
    while patience:
        value = condition()
        if value:
            return value
        time.sleep(pause)
        pause = min(LONGEST_PAUSE, pause * 1.1)
    raise GaveUp(f"not within {seconds:g} s: {what or condition}")


class WireServer(ServerProcess):
    """``agents.llm.testing.wire_server`` as a process."""

    def __init__(self, *, ledger: Path | None = None, latency_ms: float = 0.0) -> None:
        self.ledger = ledger
        options = ["--port", "0", "--latency-ms", str(latency_ms)]
        options += ["--ledger", str(ledger)] if ledger else []
        super().__init__("agents.llm.testing.wire_server", *options)

    def stats(self) -> dict[str, Any]:
        """Its counters."""
        result: dict[str, Any] = httpx.get(f"{self.url}/stats").json()
        return result


class Worker:
    """A fleet worker process (``heartbit serve``), logging to a file of its own."""

    def __init__(
        self,
        *,
        queues: str = "agents,system",
        concurrency: int = 100,
        environment: dict[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self._arguments = (
            *("serve", "--queues", queues, "--concurrency", str(concurrency)),
            *options,
        )
        self._environment = {**os.environ, **(environment or {})}
        self._process: Process
        descriptor, name = tempfile.mkstemp(prefix="worker", suffix=".log")
        os.close(descriptor)
        self.log = Path(name)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.stop()
        if error is not None:
            sys.stderr.write(f"--- {self.log}\n{self.log.read_text()[-4000:]}\n")
        self.log.unlink()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it may claim runs."""
        self._process = self._spawn()
        wait_until(self._registered, seconds=40, what=f"worker registered, see {self.log}")

    def _spawn(self) -> Process:
        with self.log.open("a") as log:
            return prepared.start(HEARTBIT, self._arguments, self._environment, log.fileno())

    def _registered(self) -> bool:
        assert self._process.poll() is None, self.log.read_text()[-4000:]
        alive = WorkerHeartbeat.objects.filter(left_at__isnull=True)
        return alive.filter(name__endswith=f":{self.pid}").exists()

    def kill(self) -> None:
        """SIGKILL: it cannot say goodbye."""
        self._process.kill()
        self._process.wait(timeout=10)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def stop(self) -> int:
        """SIGTERM, and wait for its end."""
        if self._process.poll() is None:
            self._process.terminate()
        return self._process.wait(timeout=30)


@contextmanager
def frozen(worker: Worker) -> Iterator[None]:
    """SIGSTOP the worker for the length of the block."""
    worker.signal(signal.SIGSTOP)
    try:
        yield
    finally:
        worker.signal(signal.SIGCONT)
