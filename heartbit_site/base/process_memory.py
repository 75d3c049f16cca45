"""Memory of a process that has started and will stay."""

from __future__ import annotations

import contextlib
import ctypes
import gc


def settle() -> None:
    """Give back what the start left free, and let the collector pass over what it keeps.

    Modules stay until the process ends. A fork shares the pages that neither process writes to, and
    the collector writes to those of all objects that it looks at.
    """
    gc.collect()
    with contextlib.suppress(AttributeError):  # of another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)
    gc.freeze()
