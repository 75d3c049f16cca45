"""The one error of the embedded services."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from pathlib import Path


class EmbeddedError(HeartbitError):
    """An embedded service cannot be used.

    The message is one sentence for the person at the terminal: what, where and how to mend it.
    """


def from_os_error(error: OSError, path: Path) -> EmbeddedError:
    """Return the sentence for an operating system error met while working under `path`."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return disk_full(path)
    return EmbeddedError(
        f"Cannot use {error.filename or path} ({error.strerror}): "
        "set HEARTBIT_STATE_DIR to a directory that you own and can write to."
    )


def disk_full(path: Path) -> EmbeddedError:
    """Return the sentence for a full disk under `path`."""
    return EmbeddedError(f"The disk that holds {path} is full: free some space and try again.")
