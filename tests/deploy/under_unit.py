"""Run a command as a systemd unit would: `python under_unit.py UNIT COMMAND...`, without systemd.

It is for root in a mount namespace of its own (`unshare --mount --propagation private`), and does
what systemd.exec(5) says of the directives that decide whether bubblewrap works: mounts over /proc
and /sys, no capabilities, and filters of system calls, which libseccomp builds.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

NOBODY = 65534
_EPERM, _ENOSYS, _EAFNOSUPPORT = (0x00050000 | number for number in (1, 38, 97))
_ALLOW = 0x7FFF0000
_EQUAL, _MASKED = 4, 7
NAMESPACES = {
    "mnt": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
TUNABLES = ("/proc/sys", "/proc/sysrq-trigger", "/proc/fs", "/proc/irq", "/proc/bus", "/sys")
KERNEL = ("/proc/kallsyms", "/proc/kcore")


def directives(unit: Path) -> dict[str, str]:
    """The lines of a unit; of a name that is there twice, the last."""
    lines = unit.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


def system_calls(groups: list[str]) -> set[str]:
    """The names of groups such as @mount, as this machine's systemd has them."""
    names = set[str]()
    for one in groups:
        if one.startswith("@"):
            command = ["systemd-analyze", "syscall-filter", one]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            inner = [line.strip() for line in said.splitlines() if line.startswith("    ")]
            names |= system_calls([line for line in inner if not line.startswith("#")])
        else:
            names.add(one)
    return names


class Compared(ctypes.Structure):
    """``struct scmp_arg_cmp``."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


class Filter:
    """A filter of system calls."""

    def __init__(self, otherwise: int) -> None:
        self._library = ctypes.CDLL("libseccomp.so.2")
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._filter = ctypes.c_void_p(self._library.seccomp_init(otherwise))

    def add(self, action: int, name: str, *compared: Compared) -> None:
        number = self._library.seccomp_syscall_resolve_name(name.encode())
        if number < 0:  # of another machine, or newer than the library
            return
        array = (Compared * len(compared))(*compared)
        added = self._library.seccomp_rule_add_array(
            self._filter, action, number, len(compared), array
        )
        if added:
            raise OSError(-added, f"no rule for {name}")

    def load(self) -> None:
        if loaded := self._library.seccomp_load(self._filter):
            raise OSError(-loaded, "the filter is not loaded")


def is_on(unit: dict[str, str], name: str) -> bool:
    return unit.get(name) == "yes"


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def cover(unit: dict[str, str]) -> None:
    """Mount over /proc and /sys."""
    if unit.get("ProtectProc") == "invisible":
        mount("-t", "proc", "-o", "nosuid,nodev,noexec,hidepid=invisible", "proc", "/proc")
    if is_on(unit, "ProtectKernelTunables"):
        for place in filter(os.path.exists, TUNABLES):
            mount("--bind", place, place)
            mount("-o", "remount,bind,ro", place)
    hidden = KERNEL if is_on(unit, "ProtectKernelTunables") else ()
    logs = ("/proc/kmsg",) if is_on(unit, "ProtectKernelLogs") else ()
    for place in filter(os.path.exists, (*hidden, *logs)):
        mount("--bind", "/dev/null", place)


def restrict(unit: dict[str, str]) -> None:
    """Load the filters; the list of allowed calls last, since loading may need another."""
    few = Filter(_ALLOW)
    allowed = unit.get("RestrictNamespaces", "no").split()
    if allowed != ["no"]:
        few.add(_ENOSYS, "clone3")
        for name, flag in NAMESPACES.items():
            if name not in allowed:
                for call in ("unshare", "clone"):
                    few.add(_EPERM, call, Compared(0, _MASKED, flag, flag))
    families = {FAMILIES[name] for name in unit["RestrictAddressFamilies"].split()}
    for family in set(range(46)) - families:
        few.add(_EAFNOSUPPORT, "socket", Compared(0, _EQUAL, family, 0))
    if is_on(unit, "ProtectHostname"):
        for call in ("sethostname", "setdomainname"):
            few.add(_EPERM, call)
    few.load()
    calls = Filter(_EPERM)
    for name in system_calls(["@default", *unit["SystemCallFilter"].split()]):
        calls.add(_ALLOW, name)
    calls.load()


def main(unit: Path, command: list[str]) -> None:
    """Become the command."""
    found = directives(unit)
    cover(found)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    restrict(found)
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
