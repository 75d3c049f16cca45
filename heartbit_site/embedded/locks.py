"""File locks, the only evidence that a process is alive.

The kernel releases a lock when the last process that holds its descriptor ends, however it ends. So
a lock cannot go stale, and a recycled process id cannot hold one.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

_POLL_SECONDS = 0.01


def acquire(path: Path, *, shared: bool = False, timeout: float = 0.0) -> int | None:
    """Lock a file, creating it when missing.

    Args:
        path: The lock file.
        shared: Take a shared lock instead of an exclusive one.
        timeout: Seconds to wait for other holders; 0 tries once.

    Returns:
        The descriptor that holds the lock until it is closed (not inherited by programs that
        this process starts), or None if others held the lock the whole time.

    Raises:
        OSError: The file cannot be opened.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    operation = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, operation)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(_POLL_SECONDS)
        else:
            return descriptor


def held(path: Path) -> bool:
    """Return True if a live process holds the lock exclusively."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
