"""Memory of a process: its garbage collector, and what its start left free."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from typing import Final

#: Thresholds of the garbage collector. With Python's own, a burst of runs spends an eighth of a
#: worker's processor time on a search for cycles that hardly exist, and a command a tenth of a
#: second on a search among the modules that it imports.
THRESHOLDS: Final = (50_000, 20, 100)


def collect_seldom() -> None:
    """Look for cyclic garbage after many more new objects than Python does by default."""
    gc.set_threshold(*THRESHOLDS)


def settle() -> None:
    """Give back what the start left free, and let the collector pass over what it keeps.

    Modules stay until the process ends. A fork shares the pages that neither process writes to, and
    the collector writes to those of all objects that it looks at.
    """
    gc.collect()
    with contextlib.suppress(AttributeError):  # of another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()
