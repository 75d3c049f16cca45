"""Log files of the supervisor and of its servers."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

_LIMIT_BYTES: Final = 8 * 2**20
_TAIL_BYTES: Final = 16 * 2**10
_REASON: Final = re.compile(r"FATAL|PANIC|ERROR|Error|# ")


def open_append(path: Path) -> int:
    """Open a log for appending and return its descriptor.

    Raises:
        OSError: The file cannot be opened.
    """
    return os.open(
        path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )


def size(path: Path) -> int:
    """Return the size of a log in bytes, 0 when it does not exist."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def reason(text: str) -> str:
    """Return the line of an output that best explains why a program failed."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # A server often logs its orderly exit after the line that matters.
    telling = [line for line in lines if _REASON.search(line)]
    return (telling or lines or ["it wrote nothing"])[-1]


def reason_since(path: Path, offset: int) -> str:
    """Return `reason` of the log after `offset` bytes."""
    try:
        with path.open("rb") as log:
            log.seek(max(offset, size(path) - _TAIL_BYTES))
            return reason(log.read().decode(errors="replace"))
    except OSError as error:
        return str(error)


def bound(path: Path) -> None:
    """Rotate a log: above 8 MiB it becomes `<name>.1` and starts empty.

    The writers hold the file open in append mode, so it is copied and truncated in place; a line
    written in between may be lost.
    """
    if size(path) > _LIMIT_BYTES:
        shutil.copyfile(path, path.with_suffix(".log.1"))
        os.truncate(path, 0)
