"""A control group for one program: the memory of all its processes together.

Version 1 as mounted by most containers, or version 2 where root's controllers are enabled. Only
root can create one here; without, the limits of each process remain. The number of processes is
limited by the program's own user, its processors by affinity: joining a second group of version 1
costs up to 10 ms.
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
_VERSION_1: Final = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes")


class ControlGroup:
    """The group of one program; ``directory`` is None where none can be made."""

    def __init__(self, limits: Limits, root: Path = _ROOT) -> None:
        self.directory: Path | None = None
        name = f"heartbit-{uuid4().hex}"
        is_new = (root / "cgroup.controllers").exists()
        values = (
            {"memory.max": limits.memory_bytes, "memory.swap.max": 0}
            if is_new
            else dict.fromkeys(_VERSION_1, limits.memory_bytes)
        )
        directory = root / name if is_new else root / "memory" / name
        try:
            directory.mkdir()
            self.directory = directory
            for file, value in values.items():
                if "sw" not in file or (directory / file).exists():  # not every kernel counts swap
                    (directory / file).write_text(str(value))
        except OSError:  # not root, or read-only, as in most containers
            self.close()

    def close(self) -> None:
        """End what is left in it, and remove it."""
        directory, self.directory = self.directory, None
        if directory is None:
            return
        with contextlib.suppress(OSError):
            for process in (directory / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
        with contextlib.suppress(OSError):  # the last process is still leaving
            directory.rmdir()
