"""Archive files: gzipped JSON lines, written atomically.

A file is written under a hidden name, flushed to the disk, and renamed; only then are its rows
deleted from the database.
"""

from __future__ import annotations

import fcntl
import glob
import gzip
import os
import secrets
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from heartbit_site.base.errors import ConflictError, HeartbitError

_LEVEL = 6
_LEFT_BEHIND_SECONDS = 24 * 3600.0


class ArchiveError(HeartbitError):
    """The archive cannot be written; nothing was deleted."""


class ArchivingError(ConflictError):
    """Another process of this machine is archiving."""


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Lock a directory against other archiving processes of this machine.

    Two machines that archive concurrently write some runs twice and delete them once.

    Raises:
        ArchiveError: The directory cannot be used.
        ArchivingError: Another process holds the lock.
    """
    with _explained(directory):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(directory / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ArchivingError(
                f"Another process is archiving into {directory}: try again when it has ended."
            ) from None
        _clear(directory)
        yield
    finally:
        os.close(descriptor)


def write(directory: Path, name: str, lines: Iterable[str]) -> Path:
    """Write lines into a new dated file, which is on the disk when this returns.

    Args:
        directory: An existing directory.
        name: Prefix of the file's name.
        lines: JSON objects, without line ends.

    Raises:
        ArchiveError: The file cannot be written; no file is left.
    """
    stamp = datetime.now(UTC).strftime("%Y-%m-%d.%H%M%S")
    path = directory / f"{name}.{stamp}-{secrets.token_hex(4)}.jsonl.gz"
    with _explained(directory):
        _put(path, lines)
    return path


def files_of(directory: Path, name: str) -> list[Path]:
    """Return the files that ``write`` wrote under this name, the oldest first."""
    return sorted(directory.glob(f"{glob.escape(name)}.????-??-??.*.jsonl.gz"))


def read(path: Path) -> Iterator[str]:
    """Yield a file's lines, without line ends.

    Raises:
        ArchiveError: The file cannot be read.
    """
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            for line in lines:
                yield line.removesuffix("\n")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise ArchiveError(
            f"The archive {path} cannot be read ({error}): repair it, or move it elsewhere."
        ) from error


def replace(path: Path, lines: Iterable[str]) -> None:
    """Replace a file's lines durably; delete the file if there are no lines.

    Raises:
        ArchiveError: The file cannot be written, and is unchanged.
    """
    rest = iter(lines)
    first = next(rest, None)
    with _explained(path):
        if first is None:
            path.unlink()
            _settle(path.parent)
        else:
            _put(path, chain((first,), rest))


def _put(path: Path, lines: Iterable[str]) -> None:
    """Replace an existing file with lines, durably and atomically."""
    hidden = path.with_name(f".{path.name}.part")
    try:
        _fill(hidden, lines)
        hidden.rename(path)
        _settle(path.parent)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


def _fill(path: Path, lines: Iterable[str]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as raw:
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=_LEVEL) as packed:
            for line in lines:
                packed.write(line.encode())
                packed.write(b"\n")
        raw.flush()
        os.fsync(raw.fileno())


def _settle(directory: Path) -> None:
    """Flush the directory, so that the new name is as durable as the file."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _clear(directory: Path) -> None:
    """Remove files of killed processes; files that another machine is still writing are younger."""
    with _explained(directory):
        for path in directory.glob(".*.part"):
            if datetime.now(UTC).timestamp() - path.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                path.unlink(missing_ok=True)


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveError(
            f"Runs cannot be archived into {directory} ({error.strerror or error}), so none is "
            "deleted: fix the directory, or set another one in HEARTBIT_ARCHIVE_DIR."
        ) from error
