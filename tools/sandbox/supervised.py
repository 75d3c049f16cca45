"""A process with limited output and time, and nothing left of it afterwards."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

from tools.sandbox.program import SandboxError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import ByteReceiveStream, Process, TaskGroup

    from tools.sandbox.program import Ending, Limits

_READ_BYTES: Final = 65_536
_ENVIRONMENT: Final = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


@dataclass(slots=True)
class Output:
    """Output and end of a process."""

    code: int | None = None
    ending: Ending = "exited"
    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)
    archive: bytearray = field(default_factory=bytearray)


async def run_supervised(
    words: Sequence[str], *, descriptors: Sequence[int], limits: Limits
) -> Output:
    """Run a process to its end or its limits; cancelled, it is killed.

    Args:
        words: The command. Its standard input is open for writing: the archive of its files.
        descriptors: Open files that it inherits.
        limits: Time and output; the process itself has to be limited otherwise.

    Raises:
        SandboxError: The process cannot be started.
    """
    output = Output()
    process, archive = await _start(words, descriptors)
    try:
        with anyio.move_on_after(limits.seconds) as timer:
            async with anyio.create_task_group() as tasks:
                for stream, into in (
                    (process.stdout, output.stdout),
                    (process.stderr, output.stderr),
                ):
                    tasks.start_soon(_take, stream, into, limits.output_bytes, output, tasks)
                tasks.start_soon(_take_archive, archive, output.archive, limits)
                output.code = await process.wait()
    finally:
        os.close(archive)
        with anyio.CancelScope(shield=True):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            await process.aclose()
    if timer.cancelled_caught:
        output.ending = "out of time"
    if output.ending != "exited":
        output.code = None
    return output


async def _start(words: Sequence[str], descriptors: Sequence[int]) -> tuple[Process, int]:
    archive, its_end = os.pipe()
    os.set_blocking(archive, False)
    try:
        process = await anyio.open_process(
            words,
            stdin=its_end,
            env=_ENVIRONMENT,
            cwd="/",
            pass_fds=descriptors,
            start_new_session=True,
        )
    except OSError as error:
        os.close(archive)
        raise SandboxError(f"The sandbox cannot be started ({error.strerror}).") from error
    finally:
        os.close(its_end)
    return process, archive


async def _take(
    stream: ByteReceiveStream | None,
    into: bytearray,
    limit: int,
    output: Output,
    tasks: TaskGroup,
) -> None:
    """Keep a stream's beginning; one that is longer ends the process."""
    if stream is None:
        raise TypeError("the process was started with pipes")
    async for data in stream:
        room = limit - len(into)
        into.extend(data[:room])
        if len(data) > room:
            output.ending = "too much output"
            tasks.cancel_scope.cancel()


async def _take_archive(pipe: int, into: bytearray, limits: Limits) -> None:
    """Keep the archive's beginning, and read the rest past, so that its writer can end."""
    while True:
        await anyio.wait_readable(pipe)
        data = os.read(pipe, _READ_BYTES)
        if not data:
            return
        into.extend(data[: max(0, 2 * limits.disk_bytes - len(into))])
