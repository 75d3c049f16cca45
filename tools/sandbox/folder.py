"""The files of a sandboxed program's folder as a tar stream, in and out.

The output was written by a program that may be hostile: only plain files with plain names are
accepted, up to the limits, and everything else is described. An archive that is truncated or too
large yields no files, since the rest of its files are unknown.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from heartbit_site.base.tar import BLOCK, Entry, TarError, TarReader
from tools.sandbox.program import MEGABYTE, Limits, SandboxError

MAX_NAME: Final = 200
#: Files and folders that a program may leave, whether they are kept or not.
ENTRIES: Final = 10_000
_NAMED: Final = 5  # refused files that are listed individually
_ENTRY_BYTES: Final = 4 * BLOCK  # of an archive, per entry beyond its content


@dataclass(slots=True)
class Unpacked:
    """Files of an archive.

    Attributes:
        files: Content of the plain files, by relative path.
        refused: Sentences on what was left out.
        is_complete: True if the archive was read to its end; False if some files are unknown.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    is_complete: bool = True


class FolderReader:
    """Streaming reader of an archive, which holds only the files that it keeps.

    The time of a feed depends only on its bytes, and the total time is bounded.

    Args:
        limits: Limits of the files.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._room = limits.file_bytes
        self._files: dict[str, bytes] = {}
        self._named: list[str] = []
        self._refused = self._taken = 0
        self._problem = ""
        self._reader = TarReader(
            take=self._take,
            keep=self._keep,
            most_entries=ENTRIES,
            most_bytes=archive_bytes(ENTRIES, limits.disk_bytes),
        )

    def feed(self, data: bytes) -> bool:
        """Read more data; return False if no further data will be read."""
        if self._problem:
            return False
        try:
            self._reader.feed(data)
        except TarError as error:
            self._problem = str(error)
            return False
        return True

    def finish(self) -> Unpacked:
        """Return everything that was read, even if the archive is incomplete."""
        if not self._reader.is_complete:
            problem = self._problem or "it ends too early"
            sentence = (
                f"The files could not be read, and none is kept: in their archive, {problem}. A "
                f"program may leave {ENTRIES:,} files and folders: remove what is not needed."
            )
            return Unpacked(self._files, (sentence,), is_complete=False)
        refused = list(self._named)
        if self._refused > len(refused):
            refused.append(f"{self._refused - len(refused)} more were left out.")
        return Unpacked(self._files, tuple(refused))

    def _take(self, entry: Entry) -> bool:
        if entry.is_folder:
            return False
        name = entry.name.removeprefix("./")
        problem = self._problem_of(entry, name)
        if problem:
            self._refused += 1
            if len(self._named) < _NAMED:
                self._named.append(f"{name[:MAX_NAME]!r} {problem}.")
            return False
        self._taken += 1
        self._room -= entry.size
        return True

    def _keep(self, name: str, content: bytes) -> None:
        self._files[name.removeprefix("./")] = content

    def _problem_of(self, entry: Entry, name: str) -> str | None:
        if not entry.is_file:
            return "is not a plain file"
        if problem := name_problem(name):
            return problem
        if self._taken >= self._limits.files:
            return f"exceeds the limit of {self._limits.files} files"
        if entry.size > self._room:
            most = self._limits.file_bytes
            return f"exceeds the limit of {most} bytes for all files together"
        return None


def archive_bytes(entries: int, content: int) -> int:
    """Return the maximum size in bytes of an archive with these entries and bytes of content."""
    return content + entries * _ENTRY_BYTES + MEGABYTE


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return files as a tar archive; empty if there are none.

    Raises:
        SandboxError: A name is not a plain relative path.
    """
    if not files:
        return b""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            if problem := name_problem(name):
                raise SandboxError(f"The file {name[:MAX_NAME]!r} {problem}.")
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()


def unpack(data: bytes, limits: Limits) -> Unpacked:
    """Return the plain files of a whole archive; empty if there are none."""
    if not data:
        return Unpacked()
    reader = FolderReader(limits)
    reader.feed(data)
    found = reader.finish()
    return found if found.is_complete else Unpacked({}, found.refused, is_complete=False)


def name_problem(name: str) -> str | None:
    """Return why a name cannot be that of a file in the folder, as the end of a sentence."""
    parts = name.split("/")
    if not name or len(name) > MAX_NAME:
        return f"has no name of 1 to {MAX_NAME} characters"
    if any(part in ("", ".", "..") for part in parts) or "\\" in name:
        return "is not a plain relative path"
    return None if name.isprintable() else "has a name with control characters"
