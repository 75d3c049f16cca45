"""A reader that was taken over: it tries to get out, and writes as JSON what it reached.

Each attempt is harmless where it succeeds: it asks for what is there already, or for what is not
there, or acts on the secret, which is the test's own.
"""
# System calls, one by one.
# ruff: noqa: PTH101, PTH102, PTH104, PTH108, PTH120, PTH123, PTH208, PTH211

from __future__ import annotations

import ctypes
import errno
import json
import mmap
import os
import resource
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

given = json.load(sys.stdin)


def connect(family: socket.AddressFamily, kind: socket.SocketKind, address: object) -> None:
    with socket.socket(family, kind) as one:
        one.connect(address)  # type: ignore[arg-type]


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(10)


def write(path: str) -> None:
    with open(path, "ab"):
        pass


def fork() -> None:
    if os.fork() == 0:
        os._exit(0)
    os.wait()


def mount() -> None:
    """Reach a mount: a process that may mount is told that the place is missing."""
    nowhere = os.fsencode(f"{SECRET}.nowhere")
    if ctypes.CDLL(None, use_errno=True).mount(b"none", nowhere, b"tmpfs", 0, None):
        number = ctypes.get_errno()
        if number != errno.ENOENT:
            raise OSError(number, "mount")


def run_program() -> None:
    if os.posix_spawn("/bin/true", ["/bin/true"], {}):
        os.wait()


def become_program() -> None:
    """Reach another program: whoever may start one is told that it is not there."""
    with suppress(FileNotFoundError):
        os.execv(f"{SECRET}.nowhere", ["x"])  # noqa: S606


SECRET, PARENT = given["secret"], int(given["parent"])
ATTEMPTS: dict[str, Callable[[], object]] = {
    "read a secret": lambda: read(SECRET),
    "read the accounts": lambda: read("/etc/passwd"),
    "read the worker's environment": lambda: read(f"/proc/{PARENT}/environ"),
    "read its memory": lambda: read(f"/proc/{PARENT}/mem"),
    "list a folder": lambda: os.listdir(os.path.dirname(SECRET)),
    "write a file": lambda: write(SECRET),
    "write a new file": lambda: write(f"{SECRET}.new"),
    "write where it may read": lambda: write(__file__),
    "link a file": lambda: os.symlink(SECRET, f"{SECRET}.link"),
    "rename a file": lambda: os.rename(SECRET, SECRET),
    "delete a file": lambda: os.unlink(f"{SECRET}.link"),
    "make a folder": lambda: os.mkdir(f"{SECRET}.d"),
    "open a file to others": lambda: os.chmod(SECRET, 0o640),
    "give a file away": lambda: os.chown(SECRET, os.getuid(), -1),
    "change a file's time": lambda: os.utime(SECRET),
    "connect by TCP": lambda: connect(
        socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", given["port"])
    ),
    "send by UDP": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 53)),
    "connect to a socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, given["socket"]),
    "start a program": run_program,
    "become a program": become_program,
    "fork": fork,
    "signal the worker": lambda: os.kill(PARENT, 0),
    "look at the worker's limits": lambda: resource.prlimit(PARENT, resource.RLIMIT_NOFILE),
    "set the worker's priority": lambda: os.setpriority(
        os.PRIO_PROCESS, PARENT, os.getpriority(os.PRIO_PROCESS, PARENT)
    ),
    "mount": mount,
    "take its limits back": lambda: resource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40)),
    "fill the memory": lambda: mmap.mmap(-1, 2_000_000_000).close(),
}
REACHED = []
for name, attempt in ATTEMPTS.items():
    try:
        attempt()
    except (OSError, MemoryError, ValueError):
        continue
    REACHED.append(name)
# A reader still does its work.
thread = threading.Thread(target=int)
thread.start()
thread.join()
if given.get("flood"):
    while True:
        sys.stdout.write("x" * 1_000_000)
words = " and ".join(REACHED) or "nothing"
json.dump({"refused": words, "title": words, "text": "-", "events": []}, sys.stdout)
