"""Folders of a process in the system's directory for temporary files, removed after a crash too.

A folder is locked (flock) while the process that created it runs: the kernel releases the lock when
the process ends, however it ends. The next process that creates such a folder removes those that
are not locked.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: A folder without a lock may be new and about to be locked.
LEAST_AGE_SECONDS: Final = 60.0
SWEEP_SECONDS: Final = 600.0  # between two sweeps of a process
_MARK: Final = "held"  # folders without it in their name are from versions that did not lock them

_swept_at: dict[str, float] = {}


class ScratchFolder:
    """A folder of this process.

    Args:
        kind: Word in its name.

    Attributes:
        path: The folder; only its owner may enter.
    """

    def __init__(self, kind: str) -> None:
        if time.monotonic() - _swept_at.get(kind, float("-inf")) > SWEEP_SECONDS:
            _swept_at[kind] = time.monotonic()
            sweep(kind)
        self.path = Path(tempfile.mkdtemp(prefix=_prefix(kind)))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


@contextlib.contextmanager
def scratch_folder(kind: str) -> Iterator[Path]:
    """Yield a new folder, which is deleted at the end."""
    folder = ScratchFolder(kind)
    try:
        yield folder.path
    finally:
        folder.remove()


def sweep(kind: str, *, least_age_seconds: float = LEAST_AGE_SECONDS) -> None:
    """Delete the folders left behind by ended processes."""
    for place in Path(tempfile.gettempdir()).glob(f"{_prefix(kind)}*"):
        # Another process may be deleting it, or it belongs to another user.
        with contextlib.suppress(OSError):
            if time.time() - place.lstat().st_mtime >= least_age_seconds:
                _remove_if_free(place)


def _remove_if_free(place: Path) -> None:
    lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(place, ignore_errors=True)
    finally:
        os.close(lock)


def _prefix(kind: str) -> str:
    return f"heartbit-{kind}-{_MARK}-"
