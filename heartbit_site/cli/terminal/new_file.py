"""Files that commands write for people."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from heartbit_site.cli.terminal.errors import CommandError, UsageError


def write_file(file: Path, content: bytes, *, force: bool) -> None:
    """Write a file that is not there yet; with ``force`` replace one that is.

    Raises:
        UsageError: The file is there already.
        CommandError: It cannot be written.
    """
    try:
        if force:
            _replace(file, content)
        else:
            with file.open("xb") as target:
                target.write(content)
    except FileExistsError:
        raise UsageError(f"{file} is there already: add --force to replace it.") from None
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}.") from error


def _replace(file: Path, content: bytes) -> None:
    """Replace a file at once: a reader sees the old file or the new one, never half of it."""
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(content)
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
        Path(name).chmod(mode)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
