"""The one error of the embedded services."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heartbit_site.base.errors import HeartbitError


class EmbeddedError(HeartbitError):
    """An embedded service cannot be used.

    The message is one sentence for the person at the terminal: what, where and how to fix it.
    """


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Turn an operating system error of the block, which works under `path`, into a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise disk_full(path) from error
        raise EmbeddedError(
            f"Cannot use {error.filename or path} ({error.strerror}): "
            "set HEARTBIT_STATE_DIR to a directory that you own and can write to."
        ) from error


def disk_full(path: Path) -> EmbeddedError:
    """Return the sentence for a full disk under `path`."""
    return EmbeddedError(f"The disk that holds {path} is full: free some space and try again.")
