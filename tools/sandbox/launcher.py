"""Processes with limited output and time, which leave nothing behind.

A process starts as a shell in its own control group that waits for its command. Joining a group of
version 1 usually takes 5 to 20 ms, so a shell for the next program is started after each program.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import resource
import secrets
import shlex
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from tools.sandbox.control_groups import ControlGroup
from tools.sandbox.program import Ending, Limits, SandboxError

if TYPE_CHECKING:
    from tools.sandbox.folder import FolderReader

#: Files that every process inherits, by name; each is filled before the command is given. Every
#: process also inherits the ``shell``.
FILES: Final = ("code", "folder", "filter")

#: Added to the worker's own nice value: runs get a processor nearly whenever they need one (a
#: weight of 9 to 1), and programs get the rest.
NICER: Final = 10

_READ_BYTES: Final = 65_536
_ENVIRONMENT: Final = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


@dataclass(slots=True)
class Output:
    """Output and end of a process.

    Attributes:
        has_begun: True if it wrote to its standard input: first a byte, then its files.
    """

    code: int | None = None
    ending: Ending = "exited"
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    has_begun: bool = False


class Launcher:
    """A shell that waits for its command; its standard input is a bidirectional socket.

    Attributes:
        files: Descriptors of the inherited files, by the names of ``FILES``, and of the ``shell``.
        channel: This end of its standard input.

    Raises:
        SandboxError: It cannot be started.
    """

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._group = ControlGroup()
        self.files = {name: os.memfd_create(f"heartbit-{name}") for name in FILES}
        self.files["shell"] = os.open("/bin/sh", os.O_RDONLY)
        self.channel, its_end = socket.socketpair()
        try:
            with its_end:
                self._process = subprocess.Popen(
                    ["/bin/sh"],
                    stdin=its_end.fileno(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=_ENVIRONMENT,
                    cwd="/",
                    pass_fds=tuple(self.files.values()),
                    start_new_session=True,
                )
        except OSError as error:
            self._release()
            raise SandboxError(f"The sandbox cannot be started ({error.strerror}).") from error
        if self.has_group:
            self._say(f'echo $$ >"{self._group.directory}/cgroup.procs" || exit 125')

    @property
    def has_group(self) -> bool:
        """True if the memory limit applies to all of its processes together."""
        return self._group.directory is not None

    @property
    def is_ready(self) -> bool:
        """True while it waits for a command from the process that started it."""
        return self._owner == os.getpid() and self._process.poll() is None

    def start(
        self, words: Sequence[str], *, contents: Mapping[str, bytes], limits: Limits, reserves: bool
    ) -> None:
        """Send the command; a launcher accepts only one.

        Args:
            words: The command.
            contents: Contents of the files, by the names of ``FILES``.
            limits: Limits of memory, file size and time; the command enforces the others.
            reserves: True if the command reserves far more address space than it uses.
        """
        for name, content in contents.items():
            os.write(self.files[name], content)
            os.lseek(self.files[name], 0, os.SEEK_SET)
        process = self._process.pid
        self._group.limit(limits.memory_bytes)
        # The filter keeps the program from taking this back.
        os.sched_setaffinity(process, {secrets.choice(sorted(os.sched_getaffinity(0)))})
        self._give_way(process)
        for kind, most in (
            (resource.RLIMIT_DATA if reserves else resource.RLIMIT_AS, limits.memory_bytes),
            (resource.RLIMIT_CPU, int(limits.seconds) + 1),
            (resource.RLIMIT_FSIZE, limits.disk_bytes),
            (resource.RLIMIT_NOFILE, 256),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.prlimit(process, kind, (most, most))
        self._say(f"exec {shlex.join(words)}")

    async def supervise(self, limits: Limits, folder: FolderReader) -> Output:
        """Wait until the process ends or reaches a limit; return its output. Cancellation kills it.

        Args:
            limits: Limits of time and output.
            folder: Reader that receives the archive of its files.
        """
        output = Output()
        ended = os.pidfd_open(self._process.pid)
        try:
            with anyio.move_on_after(limits.seconds) as timer:
                async with anyio.create_task_group() as tasks:
                    for stream, into in (
                        (self._process.stdout, output.stdout),
                        (self._process.stderr, output.stderr),
                    ):
                        if stream is None:
                            raise TypeError("the process was started with pipes")
                        pipe = stream.fileno()
                        tasks.start_soon(_take, pipe, into, limits.output_bytes, output, tasks)
                    tasks.start_soon(_take_archive, self.channel, folder, output)
                    await anyio.wait_readable(ended)
                    output.code = self._process.wait()
        finally:
            self._kill()
            with anyio.CancelScope(shield=True):
                await anyio.wait_readable(ended)
            os.close(ended)
        if timer.cancelled_caught:
            output.ending = "out of time"
        if output.ending != "exited":
            output.code = None
        elif output.code is not None and output.code < 0:
            output.code = 128 - output.code
        return output

    def close(self) -> None:
        """Kill the process and its descendants, if this process started it."""
        if not self.files:
            return
        if self._owner == os.getpid():
            self._kill()
            self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        self._release()

    def _give_way(self, process: int) -> None:
        """Set the priority of the process, which its program cannot raise again."""
        nice = min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICER)
        os.setpriority(os.PRIO_PROCESS, process, nice)
        # Where the kernel groups sessions, only the group's own value counts beside other sessions.
        with contextlib.suppress(OSError):  # it does not group them
            Path(f"/proc/{process}/autogroup").write_text(f"{nice}", encoding="ascii")

    def _say(self, command: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has ended; its exit code says how
            self.channel.sendall(f"{command}\n".encode())

    def _kill(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _release(self) -> None:
        self.channel.close()
        for descriptor in self.files.values():
            os.close(descriptor)
        self.files.clear()
        if self._owner == os.getpid():
            self._group.close()


_waiting: list[Launcher] = []  # one, or none


def take() -> Launcher:
    """Return the waiting launcher, or a new one.

    Raises:
        SandboxError: No launcher can be started.
    """
    with contextlib.suppress(IndexError):
        one = _waiting.pop()
        if one.is_ready:
            return one
        one.close()
    return Launcher()


def prepare() -> None:
    """Start a launcher for the next program, if that saves time."""
    if _waiting:
        return
    with contextlib.suppress(SandboxError):  # the next program reports the problem
        one = Launcher()
        if one.has_group and not _waiting:
            _waiting.append(one)
        else:
            one.close()


@atexit.register
def _close_waiting() -> None:
    while _waiting:
        _waiting.pop().close()


async def _take(pipe: int, into: bytearray, limit: int, output: Output, tasks: TaskGroup) -> None:
    """Keep the beginning of a stream; kill the process if the stream is too long."""
    while data := await _read(pipe):
        room = limit - len(into)
        into.extend(data[:room])
        if len(data) > room:
            output.ending = "too much output"
            tasks.cancel_scope.cancel()


async def _take_archive(channel: socket.socket, folder: FolderReader, output: Output) -> None:
    """Read the archive while it is valid; then close the stream, which ends its writer."""
    with contextlib.suppress(ConnectionResetError):  # the shell ended without reading its command
        while data := await _read(channel.fileno()):
            if not folder.feed(data if output.has_begun else data[1:]):
                channel.shutdown(socket.SHUT_RD)
                return
            output.has_begun = True


async def _read(descriptor: int) -> bytes:
    await anyio.wait_readable(descriptor)
    return os.read(descriptor, _READ_BYTES)
