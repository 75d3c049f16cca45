"""Readers of untrusted files, each in its own sandboxed process, and few at a time.

A hostile file may keep a parser busy for hours, fill the memory, or exploit a bug. A reader is a
script that reads a file from its standard input and writes what it found to its standard output.

Usage, for the files of a request, one after another in a thread that nothing else waits for::

    pictures = await read_aside(lambda: [reencode(data, name) for data, name in files], workspace)
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import select
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from heartbit_site.base.errors import HeartbitError

T = TypeVar("T")

#: Maximum concurrent readers of a process, and requests whose files it reads.
MOST_AT_ONCE: Final = 4
#: Requests that may wait for those; further ones are refused at once.
MOST_WAITING: Final = 8
#: Requests of one owner, such as a workspace, that may be read at once, and that may be there:
#: whatever its files are, another owner finds a thread and a place to wait.
MOST_READ_OF_ONE: Final = MOST_AT_ONCE - 1
MOST_OF_ONE: Final = MOST_AT_ONCE + MOST_WAITING // 2
#: Time after which a wait for a free reader is given up.
WAIT_SECONDS: Final = 10.0
#: Time for all files of a request together.
REQUEST_SECONDS: Final = 60.0
_WALLS: Final = Path(__file__).with_name("reader_walls.py")
_PIECE: Final = 1 << 20
_LOOK_MILLISECONDS: Final = 100
_END_SECONDS: Final = 2.0


class ReaderError(HeartbitError):
    """The reader ended without an answer, or exceeded its time, memory or output limit."""


class ReadersBusyError(HeartbitError):
    """All readers of the process are busy, with enough waiting for them.

    Attributes:
        seconds: Seconds until another attempt may succeed.
    """

    seconds = math.ceil(WAIT_SECONDS)

    def __init__(self) -> None:
        super().__init__(
            "The files cannot be read now, because the readers are busy with others: try again in "
            f"{self.seconds} seconds."
        )


class ReadingTimeError(HeartbitError):
    """The files of a request exceeded the time for all of them together."""


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


@dataclass(frozen=True, slots=True)
class _Request:
    """The request whose files a thread reads.

    Attributes:
        until: Monotonic time at which its time is over.
        cancelled: Set once no one waits for it.
    """

    until: float
    cancelled: threading.Event

    @property
    def seconds(self) -> float:
        """Seconds that are left; negative: none."""
        return self.until - time.monotonic()


_request: ContextVar[_Request | None] = ContextVar("request_of_reader", default=None)
_slots: Final = threading.BoundedSemaphore(MOST_AT_ONCE)
_places: Final = threading.BoundedSemaphore(MOST_AT_ONCE + MOST_WAITING)


class _Shares:
    """Count of each owner's requests, with a limit for one owner."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[Hashable] = Counter()
        self._lock = threading.Lock()

    def take(self, owner: Hashable) -> bool:
        """Count a request, unless the owner has the most already."""
        with self._lock:
            is_free = self._counts[owner] < self._most
            self._counts[owner] += is_free
            return is_free

    def release(self, owner: Hashable) -> None:
        """Count a request no longer."""
        with self._lock:
            self._counts[owner] -= 1
            self._counts += Counter()  # without owners that have none


_present: Final = _Shares(MOST_OF_ONE)
_being_read: Final = _Shares(MOST_READ_OF_ONE)


def read(
    script: Path,
    words: Sequence[str],
    data: bytes,
    limits: ReaderLimits,
    cancelled: threading.Event | None = None,
    *,
    patience: float = WAIT_SECONDS,
) -> bytes:
    """Run a reader on a file and return its output.

    Args:
        script: The reader.
        words: Its arguments.
        data: The file.
        limits: Limits of the process.
        cancelled: Ends the reader when it is set.
        patience: Seconds to wait for one of the process's few readers.

    Raises:
        ReaderError: It gave no answer within its limits.
        ReadersBusyError: None was free in time.
        ReadingTimeError: The time of its request (``read_aside``) is over.
    """
    request = _request.get()
    if request is not None:
        cancelled, patience = request.cancelled, min(patience, request.seconds)
    cancelled = cancelled or threading.Event()
    try:
        with _free_slot(patience, cancelled):
            if request is not None:
                limits = replace(limits, seconds=min(limits.seconds, request.seconds))
            return _run(script, words, data, limits, cancelled)
    except (ReaderError, ReadersBusyError):
        if request is not None and request.seconds <= 0:
            raise ReadingTimeError(
                f"Reading the files took more than {REQUEST_SECONDS:g} seconds together: attach "
                "fewer, or smaller ones."
            ) from None
        raise


@contextlib.contextmanager
def _free_slot(patience: float, cancelled: threading.Event) -> Iterator[None]:
    """Hold one of the process's few readers, after a wait if all are busy."""
    until = time.monotonic() + patience
    while not _slots.acquire(timeout=_LOOK_MILLISECONDS / 1_000):
        if cancelled.is_set() or time.monotonic() >= until:
            raise ReadersBusyError
    try:
        yield
    finally:
        _slots.release()


def _run(
    script: Path,
    words: Sequence[str],
    data: bytes,
    limits: ReaderLimits,
    cancelled: threading.Event,
) -> bytes:
    process = _start([str(script), *words], data, limits)
    try:
        output = _output(process, limits, cancelled)
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

    The wait for a free one has no limit but that of the caller.

    Raises:
        ReaderError: It gave no answer within its limits.
    """
    cancelled = threading.Event()
    reading = partial(read, script, words, data, limits, cancelled, patience=math.inf)
    try:
        return await asyncio.get_running_loop().run_in_executor(_readers, reading)
    finally:
        cancelled.set()


async def read_aside(work: Callable[[], T], owner: Hashable) -> T:
    """Return what work that reads a request's files returns, run in a thread for such work alone.

    Few requests are read at once, and few wait; of one owner never all. The work reads one file
    after another, so that no request takes all readers, within a time for all of them, and must
    not use the ORM.

    Args:
        work: Reads the files.
        owner: Owner of the request, such as the id of its workspace.

    Raises:
        ReadersBusyError: Too many wait, or it did not begin in time.
        ReadingTimeError: The time is over.
    """
    until, cancelled = time.monotonic() + WAIT_SECONDS, threading.Event()

    def begin() -> T:
        _request.set(_Request(time.monotonic() + REQUEST_SECONDS, cancelled))
        return work()

    with contextlib.ExitStack() as held:
        if not _present.take(owner):
            raise ReadersBusyError
        held.callback(_present.release, owner)
        if not _places.acquire(blocking=False):
            raise ReadersBusyError
        held.callback(_places.release)
        while not _being_read.take(owner):
            if time.monotonic() >= until:
                raise ReadersBusyError
            await asyncio.sleep(_LOOK_MILLISECONDS / 1_000)
        held.callback(_being_read.release, owner)
        begun = _requests.submit(copy_context().run, begin)
        ended = held.pop_all()
        begun.add_done_callback(lambda _: ended.close())
    waiting = asyncio.wrap_future(begun)
    try:
        await asyncio.wait([waiting], timeout=max(0, until - time.monotonic()))
        if not waiting.done() and begun.cancel():
            raise ReadersBusyError
        return await waiting
    finally:
        cancelled.set()
        begun.cancel()


_readers: Final = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="reader")
_requests: Final = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="files")


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
