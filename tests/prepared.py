"""Commands as forks of a prepared process (`tests.forker`), to save what imports take."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

from tests.server_process import ROOT

if TYPE_CHECKING:
    from pathlib import Path


class Forker:
    """One such process, started when it is first needed.

    Args:
        environment: What it has; with one, it is ready for exactly that environment.
    """

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def _start(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = self._environment or dict(os.environ)
        mode = ["ready"] if self._environment else []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.forker", str(theirs.fileno()), *mode],
            pass_fds=[theirs.fileno()],
            cwd=ROOT,
            env=environment | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
        )
        theirs.close()

    def run(
        self,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        directory: Path,
        seconds: float,
    ) -> tuple[int, str, str]:
        """Run a command to its end; its exit code and what it wrote.

        Raises:
            subprocess.TimeoutExpired: It did not end in time, and was killed.
        """
        if self._process is None:
            self._start()
        order = {
            "arguments": arguments,
            "environment": environment,
            "directory": str(directory),
        }
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            files = [out.fileno(), err.fileno()]
            self._channel.settimeout(seconds)
            socket.send_fds(self._channel, [json.dumps(order).encode()], files)
            started = self._channel.recv(32)
            assert started, "the process that forks has ended: its reason is on stderr"
            child = int(started)
            try:
                code = int(self._channel.recv(32))
            except TimeoutError as error:
                os.kill(child, signal.SIGKILL)
                self._channel.recv(32)
                raise subprocess.TimeoutExpired(list(arguments), seconds) from error
            for file in (out, err):
                file.seek(0)
            return code, out.read().decode(), err.read().decode()

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._channel.close()
            self._process.wait(timeout=10)


class Prepared:
    """Chooses the process that a command is forked from."""

    def __init__(self) -> None:
        self._usual = dict(os.environ)
        self._ready = Forker(self._usual)
        self._any = Forker()

    def run(
        self,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        directory: Path,
        seconds: float,
    ) -> tuple[int, str, str]:
        """Run a command to its end; its exit code and what it wrote."""
        names = environment.keys() | self._usual.keys()
        differ = {name for name in names if environment.get(name) != self._usual.get(name)}
        forker = self._ready if differ <= {"PYTEST_CURRENT_TEST"} else self._any
        return forker.run(arguments, environment, directory, seconds)

    def close(self) -> None:
        """End both."""
        self._ready.close()
        self._any.close()
