"""Interface of a drive, and the names that files may have."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from heartbit_site.base.errors import HeartbitError, NotFoundError

MAX_FILE_BYTES: Final = 10_000_000
MAX_FILES: Final = 10_000  # of a workspace's folder; also the number listed from a bucket
_NOT_IN_NAMES = frozenset('\\:*?"<>|\ufffd')
_MAX_NAME_BYTES = 500
_MAX_PART_BYTES = 200
_MAX_PARTS = 10
# Control characters, invisible ones, surrogates, unassigned ones, and separators of lines.
_REFUSED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class DriveError(HeartbitError):
    """A file cannot be listed, read or written."""


class NameTakenError(DriveError):
    """A file of the name exists with different content."""


class FileMissingError(DriveError, NotFoundError):
    """The drive has no file of that name."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a drive.

    Attributes:
        name: Its path with slashes.
        size: Bytes.
    """

    name: str
    size: int
    modified: datetime


class Drive(Protocol):
    """Files by name. Every method raises ``DriveError``."""

    async def entries(self, folder: str) -> list[FileEntry]:
        """Return the files below a folder, sorted by name; at most ``MAX_FILES``."""
        ...

    async def read(self, name: str) -> bytes:
        """Return a file's content, at most ``MAX_FILE_BYTES``."""
        ...

    async def write(self, name: str, data: bytes, *, replace: bool) -> None:
        """Write a file.

        A file that already has this content is left unchanged; one with other content is replaced
        only if ``replace`` is set.
        """
        ...


def checked_name(name: str) -> str:
    """Return a file's name in normal form (NFC).

    Raises:
        DriveError: The name is not a path below the drive's root, or some storage cannot hold it.
    """
    normal = unicodedata.normalize("NFC", name)
    parts = normal.split("/")
    if len(normal.encode("utf-8", "replace")) > _MAX_NAME_BYTES or len(parts) > _MAX_PARTS:
        raise DriveError(
            f"The name is too long: at most {_MAX_NAME_BYTES} bytes in {_MAX_PARTS} parts."
        )
    if any(_is_refused(part) for part in parts):
        raise DriveError(
            f"{name[:100]!r} is not a valid file name: write it like reports/2026/may.txt, with "
            "no part that is empty, begins with a dot or a blank, or has unusual characters."
        )
    return normal


def checked_folder(folder: str) -> str:
    """Return a folder's name in normal form; empty: the drive's root."""
    folder = folder.strip("/")
    return checked_name(folder) if folder else ""


def is_name(name: str) -> bool:
    """Return True if a file may have this name, in this form."""
    try:
        return checked_name(name) == name
    except DriveError:
        return False


def _is_refused(part: str) -> bool:
    return (
        not part
        or part[0] in ". "
        or part[-1] in ". "
        or len(part.encode("utf-8", "replace")) > _MAX_PART_BYTES
        or not _NOT_IN_NAMES.isdisjoint(part)
        or any(unicodedata.category(letter) in _REFUSED for letter in part)
    )


def too_large(name: str) -> DriveError:
    """Return the error for a file above the limit."""
    return DriveError(f"{name} has more than {MAX_FILE_BYTES} bytes, the limit for agents.")


def missing(name: str) -> DriveError:
    """Return the error for a missing file."""
    return FileMissingError(f"There is no file {name!r}: list_files shows the existing files.")


def exists(name: str) -> NameTakenError:
    """Return the error for a file that exists with different content."""
    return NameTakenError(
        f"{name} exists with different content: choose another name, or set replace."
    )
