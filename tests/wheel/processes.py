"""`heartbit up` of the installed wheel, and what is left of an environment's processes."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from typing import TYPE_CHECKING, Self

import httpx
import psutil

if TYPE_CHECKING:
    from pathlib import Path

    from tests.wheel.environment import Environment

START_SECONDS = 120
END_SECONDS = 60


class Up:
    """`heartbit up`, ended by its own id.

    Attributes:
        url: Where it serves.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self._port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> Self:
        self._log = self._environment.log.open("a")
        self._process = subprocess.Popen(
            [self._environment.bin / "heartbit", "up", "--port", str(self._port)],
            cwd=self._environment.place,
            env=self._environment.variables,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        return self

    def wait(self) -> None:
        """Return as soon as the web process answers anything."""
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("`heartbit up` serves no page")
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            httpx.get(f"{self.url}/login/", trust_env=False, timeout=30)
        except httpx.TransportError:
            return False
        return True

    def end(self) -> None:
        """Press Ctrl-C, and refuse another end than a good one."""
        self._process.send_signal(signal.SIGINT)
        if code := self._process.wait(END_SECONDS):
            raise AssertionError(f"`heartbit up` ended with {code}")

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._log.close()


def leftovers(place: Path) -> list[psutil.Process]:
    """The processes that run from a directory or were told of it."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(place) in word for word in process.info["cmdline"] or ()):
            found.append(process)
    return found
