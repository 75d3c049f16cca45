"""Errors of a backup or a restore."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heartbit_site.base.errors import HeartbitError


class BackupError(HeartbitError):
    """A backup could not be written, or cannot be restored; nothing was changed."""


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Turn an error of the operating system into a sentence about a path.

    Raises:
        BackupError: The block raised an ``OSError``.
    """
    try:
        yield
    except OSError as error:
        raise BackupError(f"{error.filename or path} cannot be used: {error.strerror}.") from error
