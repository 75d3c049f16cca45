"""Archives and folders of skills, which strangers may have packed, and their faults. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from agents.skills.spec import MAX_BYTES, MAX_FILE_BYTES, MAX_FILES
from heartbit_site.base import archives
from heartbit_site.base.archives import ArchiveLimits, RefusedFilesError, pack
from heartbit_site.base.errors import ConfigurationError

_SHOWN: Final = 5


class InvalidSkillError(ConfigurationError):
    """A skill cannot be used as it is.

    Attributes:
        faults: Sentences, each with the file or setting, what is wrong and how to mend it.
    """

    field = "archive"

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(dict.fromkeys(faults))
        shown = " ".join(self.faults[:_SHOWN])
        more = len(self.faults) - _SHOWN
        super().__init__(f"{shown} ({more} more faults)" if more > 0 else shown)


__all__ = ["MAX_ARCHIVE_BYTES", "MAX_ENTRIES", "pack", "read_path", "unpack"]

_LIMITS: Final = ArchiveLimits(files=MAX_FILES, file_bytes=MAX_FILE_BYTES, bytes=MAX_BYTES)
MAX_ARCHIVE_BYTES: Final = _LIMITS.archive_bytes
MAX_ENTRIES: Final = _LIMITS.entries


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip, tar or gzipped tar archive, by path.

    Raises:
        InvalidSkillError: It is none, or it has an entry that is not accepted, or too much.
    """
    with _as_faults():
        return archives.unpack(data, _LIMITS)


def read_path(path: Path) -> dict[str, bytes]:
    """Return the files of a folder or an archive on this machine.

    Raises:
        InvalidSkillError: A file of the folder is a link or none at all, or it is too much.
        OSError: It cannot be read.
    """
    with _as_faults():
        if path.is_dir():
            return archives.read_folder(path, _LIMITS)
    with path.open("rb") as stream:
        return unpack(stream.read(MAX_ARCHIVE_BYTES + 1))


@contextmanager
def _as_faults() -> Iterator[None]:
    try:
        yield
    except RefusedFilesError as error:
        raise InvalidSkillError([str(error)]) from error
