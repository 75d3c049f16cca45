"""Memory that a process shares with its forks."""

from __future__ import annotations

import contextlib
import ctypes
import gc


def share() -> None:
    """Prepare for forks: give back free memory, and let the collector leave the rest untouched."""
    gc.collect()
    with contextlib.suppress(AttributeError):  # of another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()
