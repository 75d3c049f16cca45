"""The C library's memory of a process: what it keeps for itself, and what its forks share."""

from __future__ import annotations

import contextlib
import ctypes
import gc
from typing import Final

M_ARENA_MAX: Final = -8
ARENAS: Final = 2


def limit_arenas() -> None:
    """Let all threads allocate from two arenas, not from eight for each processor.

    Each arena keeps what is free in it, and threads of Python seldom allocate at the same time.
    Call it before the first thread starts.
    """
    with contextlib.suppress(AttributeError):  # of another C library than glibc
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, ARENAS)


def share() -> None:
    """Prepare for forks: give back free memory, and let the collector leave the rest untouched."""
    gc.collect()
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()
