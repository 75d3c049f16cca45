"""Control groups for one program: memory, processes and processor time of all its processes.

Version 1 as mounted by most containers, or version 2 where root's controllers are enabled. Only
root can create them here; without, the limits of each process remain.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

if TYPE_CHECKING:
    from tools.sandbox.program import Limits

_ROOT: Final = Path("/sys/fs/cgroup")
_PERIOD_MICROSECONDS: Final = 100_000


class ControlGroups:
    """The groups of one program; ``directories`` is empty where none can be made."""

    def __init__(self, limits: Limits, root: Path = _ROOT) -> None:
        self.directories: list[Path] = []
        name = f"heartbit-{uuid4().hex}"
        try:
            if (root / "cgroup.controllers").exists():
                self._create(root / name, _version_2(limits))
            else:
                for controller, values in _version_1(limits).items():
                    if (root / controller).is_dir():
                        self._create(root / controller / name, values)
        except OSError:  # not root, or read-only, as in most containers
            self.close()

    def close(self) -> None:
        """End what is left in them, and remove them."""
        for directory in self.directories:
            with contextlib.suppress(OSError):
                for process in (directory / "cgroup.procs").read_text().split():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(process), signal.SIGKILL)
            with contextlib.suppress(OSError):  # the last process is still leaving
                directory.rmdir()
        self.directories = [one for one in self.directories if one.exists()]

    def _create(self, directory: Path, values: dict[str, int | str]) -> None:
        directory.mkdir()
        self.directories.append(directory)
        for name, value in values.items():
            file = directory / name
            if name.startswith("memory.") and "swap" in name and not file.exists():
                continue  # a kernel without accounting of swap
            file.write_text(str(value))


def _version_1(limits: Limits) -> dict[str, dict[str, int | str]]:
    return {
        "memory": {
            "memory.limit_in_bytes": limits.memory_bytes,
            "memory.memsw.limit_in_bytes": limits.memory_bytes,
        },
        "pids": {"pids.max": limits.processes + _OWN_PROCESSES},
        "cpu": {
            "cpu.cfs_period_us": _PERIOD_MICROSECONDS,
            "cpu.cfs_quota_us": _PERIOD_MICROSECONDS,
        },
    }


_OWN_PROCESSES: Final = 4  # of the sandbox itself


def _version_2(limits: Limits) -> dict[str, int | str]:
    return {
        "memory.max": limits.memory_bytes,
        "memory.swap.max": 0,
        "pids.max": limits.processes + _OWN_PROCESSES,
        "cpu.max": f"{_PERIOD_MICROSECONDS} {_PERIOD_MICROSECONDS}",
    }
