"""An MCP server as a process, with a minimal environment and a complete clean-up.

The SDK's own transport starts a process as this user and buffers a line of any length; this one
starts it in the sandbox, as a separate user (if Heartbit is root), with a clean environment, an
empty home and limits on files and memory, and ends the whole process group.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import anyio
import mcp_types
from anyio.abc import ByteReceiveStream, ObjectReceiveStream, ObjectSendStream, Process
from django.conf import settings
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from heartbit_site.base.http.allow import parse_allow
from heartbit_site.base.json_values import MAX_VALUES, has_too_many
from heartbit_site.base.scratch import scratch_folder
from tools.mcp.errors import McpConnectionError
from tools.mcp.message_limits import MessagePace, OpenRequests
from tools.mcp.walls import ProgramLine, read_line, walled
from tools.sandbox import seccomp
from tools.sandbox.bubblewrap import Bubblewrap
from tools.sandbox.probe import Probed
from tools.sandbox.program import SandboxError
from tools.sandbox.proxy import proxy

Pipe = TypeVar("Pipe")

MAX_LINE_BYTES: Final = 4_000_000
GRACE_SECONDS: Final = 2.0
_TAIL_BYTES = 2_000  # from the end of its error output
_FIRST_USER, _USERS = 50_000, 10_000
# Core files, open files, size of a file (512 bytes) and data (1,024 bytes; not the address space,
# of which Node reserves a lot). Set in the child, because few processes may limit another user's
# processes.
_LIMITED: Final = (
    "/bin/sh",
    "-c",
    'ulimit -c 0; ulimit -n 1024; ulimit -f 2097152; ulimit -d 4194304; exec "$@"',
    "sh",
)


_ERROR: Final = re.compile(r"error\b|no such file", re.IGNORECASE)
_MISSING: Final = re.compile(
    "cannot find (?:module|package)|no such file|no module named|can't open file|module_not_found",
    re.IGNORECASE,
)
_probed = Probed()


@dataclass(frozen=True, slots=True)
class _Bounds:
    """Limits on what a process may send before it must wait, and the paths that it sees."""

    pace: MessagePace
    requests: OpenRequests
    is_walled: bool


@asynccontextmanager
async def stdio(words: Sequence[str], *, number: int) -> AsyncIterator[TransportStreams]:
    """Start a server and yield its streams; at the end, stop it and its child processes.

    Args:
        words: The program and its arguments, after its exceptions (``tools.mcp.walls``).
        number: Id of the server's row, which decides the user id that the process gets.

    Raises:
        McpConnectionError: The program cannot be started.
    """
    with scratch_folder("mcp") as home:
        line = read_line(words)
        async with _started(line, str(home), number) as process:
            tail = bytearray()
            bounds = _Bounds(MessagePace(), OpenRequests(), is_walled=not line.is_open)
            ending = anyio.Event()
            async with anyio.create_task_group() as tasks:
                incoming, messages = anyio.create_memory_object_stream[Any](0)
                outgoing, written = anyio.create_memory_object_stream[Any](0)
                tasks.start_soon(_read, process, incoming, tail, ending, bounds)
                tasks.start_soon(_write, process, written, bounds)
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


@asynccontextmanager
async def _started(line: ProgramLine, home: str, number: int) -> AsyncIterator[Process]:
    """Start the program, sandboxed unless its line has ``+open``, and yield its process."""
    if shutil.which(line.words[0]) is None:
        raise McpConnectionError(f"its program {line.words[0]} does not exist or is not executable")
    async with contextlib.AsyncExitStack() as stack:
        options: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = _FIRST_USER + number % _USERS
            os.chown(home, user, user)
            options = {"user": user, "group": user, "extra_groups": []}
        try:
            command = list(line.words)
            if not line.is_open:
                walls = await stack.enter_async_context(_walls(line, home))
                command, options["pass_fds"] = walls
            environment = {
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": home,
                "TMPDIR": home,
                "LANG": "C.UTF-8",
            }
            process = await anyio.open_process(
                [*_LIMITED, *command],
                cwd=home,
                env=environment,
                start_new_session=True,
                umask=0o077,
                **options,
            )
        except SandboxError as error:
            raise McpConnectionError(str(error)) from error
        except OSError as error:
            raise McpConnectionError(f"its program cannot be started ({error.strerror})") from error
        try:
            yield process
        finally:
            with anyio.CancelScope(shield=True):
                await process.aclose()


@asynccontextmanager
async def _walls(line: ProgramLine, home: str) -> AsyncIterator[tuple[list[str], tuple[int]]]:
    """Yield the command of a sandboxed program, and the descriptors that it inherits.

    Raises:
        SandboxError: No sandbox holds.
    """
    problem = await _probed.problem(Bubblewrap())
    if problem is not None:
        raise SandboxError(
            f"its program is not started, because no sandbox works. {problem} An administrator "
            "who trusts it as much as Heartbit itself can write +open before it in "
            "HEARTBIT_MCP_COMMANDS"
        )
    async with contextlib.AsyncExitStack() as stack:
        filter_file = os.memfd_create("heartbit-filter")
        stack.callback(os.close, filter_file)
        os.write(filter_file, seccomp.build_filter())
        os.lseek(filter_file, 0, os.SEEK_SET)
        way = None
        if line.hosts:
            allow = parse_allow(settings.HEARTBIT_HTTP_ALLOWLIST)
            way = await stack.enter_async_context(proxy(line.hosts, allow=allow))
        yield walled(line, home=home, filter_file=filter_file, proxy=way), (filter_file,)


async def _read(
    process: Process,
    incoming: ObjectSendStream[Any],
    tail: bytearray,
    ending: anyio.Event,
    bounds: _Bounds,
) -> None:
    """Forward the messages of its output; other lines are dropped, as by the SDK."""
    async with incoming:
        try:
            async for line in _lines(_pipe(process.stdout)):
                await bounds.pace.take(1, len(line))
                if has_too_many(line):
                    raise McpConnectionError(f"it wrote a line of more than {MAX_VALUES} values")
                try:
                    message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                except (ValueError, RecursionError):
                    continue
                await bounds.requests.add(message)
                await incoming.send(SessionMessage(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
    if ending.is_set():
        return
    raise McpConnectionError(_end_reason(tail.decode("utf-8", "replace"), bounds))


def _end_reason(text: str, bounds: _Bounds) -> str:
    """Return why a process ended: the error among its last lines, with a remedy if one is known."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return "its process ended"
    # Node's last line is its version.
    errors = [line for line in lines if _ERROR.search(line)]
    reason = f"its process ended: {(errors or lines)[-1][:300]}"
    if bounds.is_walled and _MISSING.search(text):
        reason += (
            "; it can read /usr, its home and the paths in its line of HEARTBIT_MCP_COMMANDS: "
            "write +read=FOLDER before the program for a folder that it needs"
        )
    return reason


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


async def _write(
    process: Process, written: ObjectReceiveStream[SessionMessage], bounds: _Bounds
) -> None:
    stdin = _pipe(process.stdin)
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        async for message in written:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            if isinstance(message.message, mcp_types.JSONRPCRequest):
                bounds.pace.grant()
            await stdin.send(f"{text}\n".encode())
            bounds.requests.answered(message.message)


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
    """Close its input, wait briefly, and end its whole process group."""
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
    _signal(process, signal.SIGKILL)  # including processes that it left behind


def _signal(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
