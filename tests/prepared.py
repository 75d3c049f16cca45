"""Commands and servers as forks of a prepared process (`tests.forker`), to save the imports.

In pytest alone: benchmarks and chaos scenarios start everything from nothing.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from tests.server_process import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


HEARTBIT: Final = "heartbit_site.cli.main"
#: The imports, on a busy machine.
START_SECONDS: Final = 120


class Forker:
    """One such process, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | Forked | None = None

    def _start(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(START_SECONDS)
        with theirs:
            self._process = self._started(theirs.fileno())

    def _started(self, channel: int) -> subprocess.Popen[bytes] | Forked:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.forker", str(channel)],
            pass_fds=[channel],
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
        )

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
        order: dict[str, object] = {
            "arguments": arguments,
            "environment": environment,
            "directory": str(directory),
        }
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            files = [out.fileno(), err.fileno()]
            child = self._fork(order, files)
            if not select.select([self._channel], [], [], seconds)[0]:
                os.kill(child, signal.SIGKILL)
                self._answer()
                raise subprocess.TimeoutExpired(list(arguments), seconds)
            code = self._answer()
            for file in (out, err):
                file.seek(0)
            return code, out.read().decode(), err.read().decode()

    def start(
        self, module: str, arguments: Sequence[str], environment: dict[str, str], log: int
    ) -> Forked:
        """Start a program that stays; its output goes to the file ``log``."""
        order: dict[str, object] = {
            "module": module,
            "arguments": [*arguments],
            "environment": environment,
            "directory": str(ROOT),
            "stay": True,
        }
        return Forked(self, self._fork(order, [log, log]))

    def start_ready(self, environment: dict[str, str], channel: int) -> Forked:
        """Start a process that forks programs for exactly this environment."""
        order: dict[str, object] = {
            "environment": environment,
            "directory": str(ROOT),
            "stay": True,
            "ready": True,
        }
        return Forked(self, self._fork(order, [channel]))

    def converse(
        self, arguments: Sequence[str], environment: dict[str, str], said: str, terminal: int | None
    ) -> Conversing:
        """Start a command that is read from while it runs; see `Prepared.converse`."""
        order: dict[str, object] = {
            "arguments": [*arguments],
            "environment": environment,
            "directory": str(ROOT),
            "stay": True,
            "first": 0,
            "terminal": terminal is not None,
        }
        (out, its_out), (err, its_err) = os.pipe(), os.pipe()
        with tempfile.TemporaryFile() as written:
            written.write(said.encode())
            written.seek(0)
            files = [written.fileno(), its_out, its_err]
            if terminal is not None:
                files = [terminal, its_out, terminal]
            child = self._fork(order, files)
        os.close(its_out)
        os.close(its_err)
        return Conversing(self, child, out, err)

    def ended(self, child: int) -> int:
        """The exit code of a command that stayed, at its end."""
        self._channel.send(str(child).encode())
        return self._answer()

    def _fork(self, order: dict[str, object], files: list[int]) -> int:
        if self._process is None:
            self._start()
        socket.send_fds(self._channel, [json.dumps(order).encode()], files)
        return self._answer()

    def _answer(self) -> int:
        """The process's next answer.

        Raises:
            TimeoutError: It is late. The process is given up: its later answers would be taken for
                those to other orders.
        """
        try:
            said = self._channel.recv(32)
        except TimeoutError:
            self._channel.close()
            self._process = None
            raise
        assert said, "the process that forks has ended: its reason is on stderr"
        return int(said)

    def close(self) -> None:
        """End it."""
        if self._process is not None:
            self._channel.close()
            self._process.wait(timeout=10)


class ReadyForker(Forker):
    """A fork of another such process, with our modules imported in one environment."""

    def __init__(self, origin: Forker, environment: dict[str, str]) -> None:
        super().__init__()
        self._origin = origin
        self._environment = environment

    def _started(self, channel: int) -> Forked:
        return self._origin.start_ready(self._environment, channel)


class Forked:
    """A command that stays, with what the tests use of ``subprocess.Popen``."""

    def __init__(self, forker: Forker, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._forker = forker
        self._handle = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        if self.returncode is None and select.select([self._handle], [], [], 0)[0]:
            self.returncode = self._forker.ended(self.pid)
            os.close(self._handle)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, at its end.

        Raises:
            subprocess.TimeoutExpired: It has not ended in time.
        """
        if self.returncode is None and not select.select([self._handle], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Conversing(Forked):
    """A command whose output and errors are text."""

    def __init__(self, forker: Forker, pid: int, out: int, err: int) -> None:
        super().__init__(forker, pid)
        self.stdout = os.fdopen(out, encoding="utf-8")
        self.stderr = os.fdopen(err, encoding="utf-8")
        self._read: tuple[str, str] | None = None

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for its end; what it wrote that was not read yet.

        Raises:
            subprocess.TimeoutExpired: It did not end in time, and was killed.
        """
        if self._read is not None:
            return self._read
        with ThreadPoolExecutor(2) as readers:
            read = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            out, err = (each.result() for each in read)
        self.stdout.close()
        self.stderr.close()
        self._read = out, err
        return self._read


#: A program that stays.
Process = Forked | subprocess.Popen[bytes]


#: Variables that our modules read only when they need them, so that one process serves all values.
READ_LATE: Final = {
    *("PYTEST_CURRENT_TEST", "HEARTBIT_WORKSPACE"),
    *("HEARTBIT_URL", "HEARTBIT_API_KEY", "HEARTBIT_CONFIG"),
}
#: Of an environment, until a process is made ready for it: that takes as long as two commands.
USES: Final = 3


class Prepared:
    """Chooses the process that a program is forked from.

    One is ready for each environment that is used more often; all others share one that knows no
    module of ours.
    """

    def __init__(self) -> None:
        self._any = Forker()
        self._uses: Counter[frozenset[tuple[str, str]]] = Counter()
        self._ready: dict[frozenset[tuple[str, str]], Forker] = {}

    def run(
        self,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        directory: Path,
        seconds: float,
        *,
        imports: bool = False,
    ) -> tuple[int, str, str]:
        """Run a command to its end; its exit code and what it wrote.

        Args:
            arguments: Of `heartbit`.
            environment: All of it.
            directory: Where it works.
            seconds: Until it is killed.
            imports: Fork a process that has imported no module of ours.
        """
        forker = self._any if imports else self._forker(environment)
        return forker.run(arguments, environment, directory, seconds)

    def start(
        self, module: str, arguments: Sequence[str], environment: dict[str, str], log: int
    ) -> Forked:
        """Start a program that stays; its output goes to the file ``log``."""
        return self._forker(environment).start(module, arguments, environment, log)

    def converse(
        self,
        arguments: Sequence[str],
        environment: dict[str, str],
        *,
        said: str = "",
        terminal: int | None = None,
    ) -> Conversing:
        """Start a command that is read from while it runs.

        Args:
            arguments: Of `heartbit`.
            environment: All of it.
            said: Its standard input.
            terminal: Its controlling terminal, in place of standard input and errors.
        """
        return self._forker(environment).converse(arguments, environment, said, terminal)

    def _forker(self, environment: dict[str, str]) -> Forker:
        wanted = frozenset(item for item in environment.items() if item[0] not in READ_LATE)
        self._uses[wanted] += 1
        if self._uses[wanted] < USES:
            return self._any
        if wanted not in self._ready:
            self._ready[wanted] = ReadyForker(self._any, dict(wanted))
        return self._ready[wanted]

    def close(self) -> None:
        """End them all."""
        for forker in (*self._ready.values(), self._any):
            forker.close()


def start(module: str, arguments: Sequence[str], environment: dict[str, str], log: int) -> Process:
    """Start ``python -m MODULE`` in the checkout; its output goes to the file ``log``."""
    if forks:
        return shared().start(module, arguments, environment, log)
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)


#: Whether programs that stay are forks.
forks = False
_shared: list[Prepared] = []


def shared() -> Prepared:
    """The one of this process."""
    if not _shared:
        _shared.append(Prepared())
    return _shared[0]


def close_shared() -> None:
    """End it."""
    while _shared:
        _shared.pop().close()
