"""A control group for one program: it limits the memory of all its processes together.

Version 1 as mounted by most containers, or version 2 where root's controllers are enabled. Only
root can create one here; otherwise only the limits per process apply. The number of processes is
limited through the program's own user, its processors by affinity: joining a second group of
version 1 takes up to 10 ms.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import signal
from pathlib import Path
from typing import Final
from uuid import uuid4

_ROOT: Final = Path("/sys/fs/cgroup")
_PREFIX: Final = "heartbit-"


class ControlGroup:
    """The group of one program; ``directory`` is None where none can be made."""

    def __init__(self, root: Path = _ROOT) -> None:
        is_new = (root / "cgroup.controllers").exists()
        parent = root if is_new else root / "memory"
        _remove_ended(parent, os.getpid())
        self._limits = (
            ("memory.max", "memory.swap.max")
            if is_new
            else ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        )
        self.directory: Path | None = parent / f"{_PREFIX}{os.getpid()}-{uuid4().hex}"
        try:
            self.directory.mkdir()
        except OSError:  # not root, or read-only, as in most containers
            self.directory = None
            return
        if not (self.directory / self._limits[0]).exists():  # its controller is not enabled
            self.close()

    def limit(self, memory_bytes: int) -> None:
        """Limit the memory of all processes together, with swap where the kernel counts it."""
        if self.directory is None:
            return
        memory, swap = (self.directory / name for name in self._limits)
        memory.write_text(str(memory_bytes))
        if swap.exists():
            swap.write_text("0" if swap.name == "memory.swap.max" else str(memory_bytes))

    def close(self) -> None:
        """Kill the remaining processes, and remove the group."""
        directory, self.directory = self.directory, None
        if directory is None:
            return
        with contextlib.suppress(OSError):
            for process in (directory / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
        _leaving.add(directory)
        _remove_left()


_leaving: set[Path] = set()  # groups whose last process may not have ended yet


@atexit.register
def _remove_left() -> None:
    _leaving.difference_update([one for one in tuple(_leaving) if _removed(one)])


@functools.cache
def _remove_ended(parent: Path, process: int) -> None:
    """Remove the groups of processes that were killed; once for each process, after a fork too."""
    for directory in parent.glob(f"{_PREFIX}*"):
        owner = directory.name.removeprefix(_PREFIX).partition("-")[0]
        if not (owner.isdigit() and Path("/proc", owner).exists()):
            _removed(directory)


def _removed(directory: Path) -> bool:
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # it still has a process
        return False
    return True
