"""Programs in namespaces of their own, with bubblewrap: no network, host files or other processes.

It is complemented by a separate user if Heartbit is root, a system call filter, limits per process
and, where available, a control group. Each closes a gap that the others leave
(docs/decisions/0034-code-runs-in-one-sandbox-or-not-at-all.md).
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from heartbit_site.base.http.allow import AllowRule
from tools.sandbox import folder, launcher, seccomp
from tools.sandbox.languages import FOLDER, Interpreter, interpreter_for
from tools.sandbox.probe import has_held, probe, reason
from tools.sandbox.program import Ended, Program, SandboxError
from tools.sandbox.proxy import proxy
from tools.sandbox.walls import HIDDEN, INPUT, SHELL, bridge, bubblewrap, walls

_FIRST_USER, _USERS = 0x2000_0000, 0x1000_0000  # above the ids of accounts and containers
_SIGNALLED: Final = 128  # exit codes from here on stand for signals

# Inside: limit the number of processes (dash calls it -p, other shells -u), unpack the files, open
# the bridge to the proxy, run the program, end whatever it started, write a line, pack the files.
# The last two are written to standard input. The shell is process 1, which no signal from inside
# ends, and its memory is closed to the program (``walls``): otherwise the program could forge the
# archive.
_INSIDE: Final = (
    "ulimit -u {processes} 2>/dev/null || ulimit -p {processes} || exit 125; "
    f"cd {FOLDER} || exit 125; [ ! -s {INPUT} ] || tar -xf {INPUT} || exit 125; "
    "{bridge}"
    '"$@" </dev/null; code=$?; [ $$ != 1 ] || kill -9 -1 2>/dev/null; echo >&0; '
    "tar -cf - . >&0 2>/dev/null; exit $code"
)


class Bubblewrap:
    """The sandbox ``bubblewrap``.

    Args:
        allow: The operator's exceptions beyond the public internet, for programs with hosts.
    """

    name = "bubblewrap"

    def __init__(self, allow: Sequence[AllowRule] = ()) -> None:
        self._allow = allow

    async def problem(self) -> str | None:
        """See ``Sandbox.problem``."""
        try:
            ended = await self._run(probe(HIDDEN))
        except SandboxError as error:
            return str(error)
        if has_held(ended):
            return None
        return (
            f"bubblewrap does not work here ({reason(ended)}): it needs unprivileged user "
            "namespaces, which many containers forbid."
        )

    async def run(self, program: Program) -> Ended:
        """See ``Sandbox.run``."""
        try:
            if not program.hosts:
                return await self._run(program)
            async with proxy(program.hosts, allow=self._allow) as way:
                return await self._run(program, way)
        finally:
            # Not after a probe: many workers never run code.
            asyncio.get_running_loop().call_soon(launcher.prepare)

    async def _run(self, program: Program, way: Path | None = None) -> Ended:
        began = time.monotonic()
        if platform.machine() != seccomp.MACHINE:
            raise SandboxError(f"bubblewrap has no system call filter for {platform.machine()}.")
        interpreter = interpreter_for(program)
        contents = {
            "code": program.code.encode(),
            "folder": await asyncio.to_thread(folder.pack, program.files),
            "filter": seccomp.build_filter(),
        }
        binary = bubblewrap()
        files = folder.FolderReader(program.limits)
        shell = launcher.take()
        try:
            shell.start(
                [
                    *_as_own_user(),
                    binary,
                    *walls(interpreter, shell.files, program.limits, way),
                    *_inside(interpreter, program.limits.processes, way),
                ],
                contents=contents,
                limits=program.limits,
                reserves=interpreter.reserves,
            )
            output = await shell.supervise(program.limits, files)
        finally:
            shell.close()
        return _ended(output, files, began)


def _ended(output: launcher.Output, files: folder.FolderReader, began: float) -> Ended:
    stderr = output.stderr.decode("utf-8", "replace")
    # A line always follows the program; the archive may be missing if the program left no room for
    # another process.
    if output.code is not None and 0 < output.code < _SIGNALLED and not output.has_begun:
        raise SandboxError(f"The sandbox did not start the program: {stderr[:300].strip()}")
    left = files.finish() if output.code is not None else folder.Unpacked(is_complete=False)
    return Ended(
        code=output.code,
        ending=output.ending,
        stdout=output.stdout.decode("utf-8", "replace"),
        stderr=stderr,
        files=left.files if left.is_complete else {},
        refused=left.refused,
        sandbox=Bubblewrap.name,
        seconds=time.monotonic() - began,
        is_complete=left.is_complete,
    )


def _inside(interpreter: Interpreter, processes: int, way: Path | None) -> list[str]:
    script = _INSIDE.format(processes=processes, bridge="" if way is None else bridge())
    return [SHELL, "-c", script, "sh", *interpreter.command]


def _as_own_user() -> list[str]:
    if os.geteuid() != 0:
        return []
    user = _FIRST_USER + secrets.randbelow(_USERS)
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]
