"""Program that sandboxes its own process, then runs a reader of untrusted files in it.

``heartbit_site.base.reader_process`` runs it as a file, and it needs only the standard library.
Before the reader starts, the process gives up everything that reading does not need: capabilities,
all files except those of the interpreter, the reader's own package and ``heartbit_site.base``, and
every way to write, connect, start a program or signal another process. None of this needs
privileges or namespaces, so it works in containers as well
(docs/decisions/0052-readers-of-files-wall-themselves-in.md).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import resource
import runpy
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

_OPEN_FILES: Final = 64
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER_MODE = 38, 22, 2  # prctl
_CAPABILITIES: Final = 0x20080522  # _LINUX_CAPABILITY_VERSION_3

# Numbers of system calls that are the same on every machine.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION, _BENEATH = 1, 1
_READ_FILE, _READ_DIRECTORY = 1 << 2, 1 << 3
#: File rights by the Landlock version that introduced them; TCP rights, and scopes.
_FILE_RIGHTS: Final = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_TCP_RIGHTS, _TCP_VERSION = 0b11, 4
_SCOPES, _SCOPE_VERSION = 0b11, 6  # abstract sockets, signals

X86_64: Final = "x86_64"
_AUDIT_ARCH: Final = 0xC000003E
_X32_BIT: Final = 0x40000000
_FIRST_UNKNOWN: Final = 463  # calls of newer kernels: as if this kernel lacked them
#: Denied system calls of x86_64, grouped by effect.
_DENIED: Final = (
    *(41, 53),  # socket, socketpair
    *(57, 58, 59, 322),  # fork, vfork, execve, execveat
    *(62, 129, 200, 234, 297, 424, 434, 438),  # kill and similar, pidfd_open, pidfd_getfd
    *(101, 310, 311, 312, 440),  # ptrace, process_vm_readv and _writev, kcmp, process_madvise
    *(141, 142, 144, 160, 203, 251, 302, 314),  # priorities and limits, of any process
    *(76, 77, 82, 83, 84, 85, 86, 87, 88, 133),  # truncate, rename, mkdir, creat, link, mknod
    *(258, 259, 263, 264, 265, 266, 316, 437),  # the same at a directory, openat2
    *(90, 91, 92, 93, 94, 260, 268, 452),  # chmod, chown
    *(132, 235, 261, 280),  # times of files
    *(188, 189, 190, 197, 198, 199),  # extended attributes
    *(29, 64, 68, 240),  # shared memory, semaphores, queues
    *(248, 249, 250),  # keys
    *(155, 161, 165, 166, 272, 308, 428, 429, 430, 431, 432, 433, 442),  # mounts and namespaces
    *(303, 304, 298, 321, 323, 425, 426, 427),  # file handles, perf, bpf, userfaultfd, io_uring
)
_OPEN, _OPENAT = 2, 257
# The flags of clone3 are in memory, out of the filter's reach: ENOSYS makes the C library use
# clone.
CLONE, CLONE3 = 56, 435
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_THREAD: Final = 0x10000  # CLONE_THREAD
LOAD, EQUAL, _AT_LEAST, HAS_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCH, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
ALLOW, _KILL = 0x7FFF0000, 0x80000000
EPERM, ENOSYS = 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS

_libc = ctypes.CDLL(None, use_errno=True)


def main(seconds: int, memory_bytes: int, script: str, words: list[str]) -> None:
    """Sandbox this process, then run a script.

    Args:
        seconds: Limit of processor time.
        memory_bytes: Limit of the address space.
        script: Path of the script; its package and Heartbit's may be read.
        words: Its arguments.
    """
    # When memory runs out, the kernel ends this process rather than the worker.
    Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    for kind, most in (
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
    ):
        resource.setrlimit(kind, (most, most))
    _drop_capabilities()
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _hide_files(Path(script))
    _filter_calls()
    sys.argv = [script, *words]
    runpy.run_path(script, run_name="__main__")


def _drop_capabilities() -> None:
    header = struct.pack("=Ii", _CAPABILITIES, 0)
    _check(_libc.capset(header, bytes(24)))


def _hide_files(script: Path) -> None:
    """Restrict files to what the interpreter and the script need, with Landlock if there is one."""
    version = _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    if version < 0:  # an old kernel, or one booted without Landlock
        return
    rights = sum(bits for since, bits in _FILE_RIGHTS.items() if since <= version)
    ruleset = struct.pack("=Q", rights)
    if version >= _TCP_VERSION:
        ruleset += struct.pack("=Q", _TCP_RIGHTS)
    if version >= _SCOPE_VERSION:
        ruleset += struct.pack("=Q", _SCOPES)
    rules = _check(_libc.syscall(_CREATE_RULESET, ruleset, ctypes.c_size_t(len(ruleset)), 0))
    for path, allowed in _readable(script):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack("=Qi", allowed, place)
            _check(_libc.syscall(_ADD_RULE, rules, _BENEATH, rule, 0))
            os.close(place)
    _check(_libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _readable(script: Path) -> Iterator[tuple[str | Path, int]]:
    """Yield the readable paths, with their rights."""
    for place in ("/usr", "/lib", "/lib64", sys.prefix, sys.base_prefix):
        yield place, _READ_FILE | _READ_DIRECTORY
    for file in ("/etc/ld.so.cache", "/etc/mime.types", "/dev/null", "/dev/urandom"):
        yield file, _READ_FILE
    package = script.parent
    while (package.parent / "__init__.py").exists():
        package = package.parent
    yield package, _READ_FILE | _READ_DIRECTORY
    own = Path(__file__).parent  # code that readers share
    yield own, _READ_FILE | _READ_DIRECTORY
    yield own.parent / "__init__.py", _READ_FILE
    yield package.parent, _READ_DIRECTORY  # importing the package lists its directory


def _filter_calls() -> None:
    if platform.machine() != X86_64:
        return
    steps = _filter()
    code = ctypes.create_string_buffer(steps)
    program = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(code))
    _check(_libc.prctl(_SET_SECCOMP, _FILTER_MODE, program, 0, 0))


def _filter() -> bytes:
    steps = [*first_steps(_DENIED), *answered(CLONE3, ENOSYS)]
    for number, argument in ((_OPEN, 1), (_OPENAT, 2)):
        steps += (
            step(EQUAL, number, 0, 4),
            step(LOAD, ARGUMENTS + 8 * argument),
            step(HAS_BIT, _WRITES, 0, 1),
            step(RETURN, EPERM),
            step(RETURN, ALLOW),
        )
    steps += (
        step(EQUAL, CLONE, 0, 3),
        step(LOAD, ARGUMENTS),
        step(HAS_BIT, _THREAD, 1),
        step(RETURN, EPERM),
        step(RETURN, ALLOW),
    )
    return b"".join(steps)


def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one ``struct sock_filter``; the last two are the numbers of steps to skip."""
    return struct.pack("<HBBI", code, if_true, if_false, value)


def answered(number: int, answer: int) -> tuple[bytes, bytes]:
    """Return the steps that answer a system call, whatever its arguments are."""
    return step(EQUAL, number, 0, 1), step(RETURN, answer)


def first_steps(denied: Iterable[int]) -> Iterator[bytes]:
    """Yield the steps that refuse other machines, calls of newer kernels, and some calls entirely.

    After them the number of the call is loaded.
    """
    yield step(LOAD, _ARCH)
    yield step(EQUAL, _AUDIT_ARCH, 1)
    yield step(RETURN, _KILL)
    yield step(LOAD, _NUMBER)
    yield step(_AT_LEAST, _X32_BIT, 0, 1)
    yield step(RETURN, _KILL)
    yield step(_AT_LEAST, _FIRST_UNKNOWN, 0, 1)
    yield step(RETURN, ENOSYS)
    for number in denied:
        yield from answered(number, EPERM)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the sandbox cannot be set up: {os.strerror(number)}")
    return result


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
