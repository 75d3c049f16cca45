"""Memory of a process: its garbage collector, and memory freed after its start."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from typing import Final

#: Thresholds of the garbage collector. With Python's defaults, a burst of runs spends an eighth of
#: a worker's processor time searching for cycles that hardly exist, and a command a tenth of a
#: second searching the modules that it imports.
THRESHOLDS: Final = (50_000, 20, 100)


def collect_seldom() -> None:
    """Collect cyclic garbage far less often than Python does by default."""
    gc.set_threshold(*THRESHOLDS)


def settle() -> None:
    """Return memory freed after the start to the system, and exempt what is left from collection.

    Modules stay until the process ends. A fork shares the pages that neither process writes to, and
    the collector writes to the pages of all objects that it visits.
    """
    gc.collect()
    with contextlib.suppress(AttributeError):  # the C library is not glibc
        ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()
