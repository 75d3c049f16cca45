"""An MCP server as a process: little to inherit, and nothing left behind.

The SDK's own transport starts a process as this user and buffers a line of any length; this one
starts it as a user of its own (if Heartbit is root), with a clean environment, an empty home and
limits on files and memory, and ends the whole process group.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import mcp_types
from mcp.shared.message import SessionMessage

from tools.mcp.errors import McpConnectionError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from anyio.abc import ByteReceiveStream, ObjectReceiveStream, ObjectSendStream, Process
    from mcp.client._transport import TransportStreams

Pipe = TypeVar("Pipe")

MAX_LINE_BYTES: Final = 4_000_000
GRACE_SECONDS: Final = 2.0
_TAIL_BYTES = 2_000  # of what it wrote to its error output
_FIRST_USER, _USERS = 50_000, 10_000
# Core files, open files, size of a file (512 bytes) and data (1,024 bytes; not the address space,
# of which Node reserves a lot). Set in the child: only a few processes may limit another user's.
_LIMITED: Final = (
    "/bin/sh",
    "-c",
    'ulimit -c 0; ulimit -n 1024; ulimit -f 2097152; ulimit -d 4194304; exec "$@"',
    "sh",
)


@asynccontextmanager
async def stdio(words: Sequence[str], *, number: int) -> AsyncIterator[TransportStreams]:
    """Start a server and yield its streams; end it, and what it started, at the end.

    Args:
        words: The program and its arguments.
        number: Id of the server's row, which decides the user id that the process gets.

    Raises:
        McpConnectionError: The program cannot be started.
    """
    home = tempfile.mkdtemp(prefix="heartbit-mcp-")
    try:
        process = await _started(words, home, number)
        tail = bytearray()
        ending = anyio.Event()
        try:
            async with anyio.create_task_group() as tasks:
                incoming, messages = anyio.create_memory_object_stream[Any](0)
                outgoing, written = anyio.create_memory_object_stream[Any](0)
                tasks.start_soon(_read, process, incoming, tail, ending)
                tasks.start_soon(_write, process, written)
                tasks.start_soon(_keep_tail, process, tail)
                try:
                    yield messages, outgoing
                finally:
                    failed = tasks.cancel_scope.cancel_called
                    ending.set()
                    with anyio.CancelScope(shield=True):
                        await _end(process, grace=0.0 if failed else GRACE_SECONDS)
                    tasks.cancel_scope.cancel()
                    for stream in (incoming, messages, outgoing, written):
                        stream.close()
        finally:
            with anyio.CancelScope(shield=True):
                await process.aclose()
    finally:
        shutil.rmtree(home, ignore_errors=True)


async def _started(words: Sequence[str], home: str, number: int) -> Process:
    if shutil.which(words[0]) is None:
        raise McpConnectionError(f"its program {words[0]} is not there, or cannot be executed")
    options: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = _FIRST_USER + number % _USERS
        os.chown(home, user, user)
        options = {"user": user, "group": user, "extra_groups": []}
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
    }
    try:
        return await anyio.open_process(
            [*_LIMITED, *words],
            cwd=home,
            env=environment,
            start_new_session=True,
            umask=0o077,
            **options,
        )
    except OSError as error:
        raise McpConnectionError(f"its program cannot be started ({error.strerror})") from error


async def _read(
    process: Process, incoming: ObjectSendStream[Any], tail: bytearray, ending: anyio.Event
) -> None:
    """Pass on the messages of its output; a line that is none is dropped, as the SDK does."""
    async with incoming:
        try:
            async for line in _lines(_pipe(process.stdout)):
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except (ValueError, RecursionError):
                    continue
                await incoming.send(SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
    if ending.is_set():
        return
    if text := tail.decode("utf-8", "replace").strip():
        raise McpConnectionError(f"its process ended: {text.splitlines()[-1].strip()[:300]}")
    raise McpConnectionError("its process ended")


async def _lines(output: ByteReceiveStream) -> AsyncIterator[bytes]:
    held = bytearray()
    async for data in output:
        held += data
        *lines, rest = held.split(b"\n")
        for line in lines:
            yield bytes(line)
        held = bytearray(rest)
        if len(held) > MAX_LINE_BYTES:
            raise McpConnectionError(f"it wrote a line of more than {MAX_LINE_BYTES} bytes")


async def _write(process: Process, written: ObjectReceiveStream[SessionMessage]) -> None:
    stdin = _pipe(process.stdin)
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for message in written:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await stdin.send(f"{text}\n".encode())


async def _keep_tail(process: Process, tail: bytearray) -> None:
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for data in _pipe(process.stderr):
            tail += data
            del tail[:-_TAIL_BYTES]


def _pipe(stream: Pipe | None) -> Pipe:
    if stream is None:
        raise TypeError("the process was started with pipes")
    return stream


async def _end(process: Process, *, grace: float) -> None:
    """Close its input, wait a little, and end its whole group."""
    with contextlib.suppress(OSError, anyio.BrokenResourceError):
        await _pipe(process.stdin).aclose()
    for number in (None, signal.SIGTERM):
        if number is not None:
            _signal(process, number)
        with anyio.move_on_after(grace):
            while process.returncode is None:
                await anyio.sleep(0.01)
        if process.returncode is not None:
            break
    _signal(process, signal.SIGKILL)  # what it started and left behind, too


def _signal(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
