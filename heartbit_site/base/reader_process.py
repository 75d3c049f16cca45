"""Readers of untrusted files, each in its own sandboxed process, and few at a time.

A hostile file may keep a parser busy for hours, fill the memory, or exploit a bug. A reader is a
script that reads a file from its standard input and writes what it found to its standard output.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from heartbit_site.base.errors import HeartbitError

#: Maximum concurrent readers that ``read_on_loop`` starts in a process.
MOST_AT_ONCE: Final = 4
_WALLS: Final = Path(__file__).with_name("reader_walls.py")
_PIECE: Final = 1 << 20
_LOOK_MILLISECONDS: Final = 100
_END_SECONDS: Final = 2.0


class ReaderError(HeartbitError):
    """The reader ended without an answer, or exceeded its time, memory or output limit."""


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    """Limits of one reader.

    Attributes:
        seconds: Wall time.
        cpu_seconds: Processor time.
        memory_bytes: Address space.
        output_bytes: Output.
    """

    seconds: float
    cpu_seconds: int
    memory_bytes: int
    output_bytes: int


def _start(command: Sequence[str], data: bytes, limits: ReaderLimits) -> subprocess.Popen[bytes]:
    """Start a reader in its walls, with the file as its standard input."""
    source = os.memfd_create("heartbit-file")
    try:
        with open(source, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(source, 0, os.SEEK_SET)
        limited = (str(limits.cpu_seconds), str(limits.memory_bytes))
        return subprocess.Popen(  # noqa: S603  this interpreter, and files of our own
            [sys.executable, "-I", str(_WALLS), *limited, *command],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
        )
    except OSError as error:
        raise ReaderError(f"The reader cannot be started ({error.strerror}).") from error
    finally:
        os.close(source)


def read(
    script: Path,
    words: Sequence[str],
    data: bytes,
    limits: ReaderLimits,
    cancelled: threading.Event | None = None,
) -> bytes:
    """Run a reader on a file and return its output.

    Args:
        script: The reader.
        words: Its arguments.
        data: The file.
        limits: Limits of the process.
        cancelled: Ends the reader when it is set.

    Raises:
        ReaderError: It gave no answer within its limits.
    """
    process = _start([str(script), *words], data, limits)
    try:
        output = _output(process, limits, cancelled or threading.Event())
    finally:
        process.kill()
        code = process.wait()
        if process.stdout is not None:
            process.stdout.close()
    if code:
        raise ReaderError("The reader ended without an answer.")
    return output


async def read_on_loop(
    script: Path, words: Sequence[str], data: bytes, limits: ReaderLimits
) -> bytes:
    """Run a reader and return its output, without blocking the loop or its other threads.

    Raises:
        ReaderError: It gave no answer within its limits.
    """
    cancelled = threading.Event()
    reading = partial(read, script, words, data, limits, cancelled)
    try:
        return await asyncio.get_running_loop().run_in_executor(_readers, reading)
    finally:
        cancelled.set()


_readers: Final = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="reader")


def _output(
    process: subprocess.Popen[bytes], limits: ReaderLimits, cancelled: threading.Event
) -> bytes:
    """Read the output to its end, which is also the end of the process."""
    if process.stdout is None:
        raise TypeError("the process was started with a pipe")
    pipe = process.stdout.fileno()
    until = time.monotonic() + limits.seconds
    output = bytearray()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while time.monotonic() < until and not cancelled.is_set():
        if not poll.poll(_LOOK_MILLISECONDS):
            continue
        piece = os.read(pipe, _PIECE)
        if not piece:
            # A process that closes its output must end at once.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
            return bytes(output)
        output += piece
        if len(output) > limits.output_bytes:
            raise ReaderError(f"The reader wrote more than {limits.output_bytes} bytes.")
    raise ReaderError(f"The reader took more than {limits.seconds:g} s.")
