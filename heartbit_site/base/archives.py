"""Untrusted archives: zip and tar, read within limits. Pure.

Every entry is a plain file or folder with a relative path, or the whole archive is refused. Nothing
is written to a disk, and an archive inside an archive is a file like any other.

Usage::

    files = unpack(data, ArchiveLimits(files=500, file_bytes=4 * MEGABYTE, bytes=8 * MEGABYTE))
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.tar import Entry, TarError, TarReader

MEGABYTE: Final = 1024 * 1024
MAX_RATIO: Final = 100
_NESTED: Final = 4
_SMALL: Final = MEGABYTE  # a small archive may unpack to this size, whatever its ratio
_BLOCK: Final = 512
_SHOWN: Final = 120  # characters of a path in a sentence
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK"
_ZIP_ENTRY: Final = b"PK\x01\x02"  # begins each entry of a zip's directory
_PLAIN: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Files left by file managers and tools, which are not part of an uploaded folder.
_LITTER: Final = frozenset({"__MACOSX", "__pycache__", ".DS_Store", ".git", "Thumbs.db"})


class RefusedFilesError(ConfigurationError):
    """An archive or a folder is not accepted."""

    field = "archive"


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """Limits of an archive or a folder.

    Attributes:
        files: Files at most.
        file_bytes: Maximum bytes read from one file of a folder; one more shows that it is too
            large.
        bytes: Bytes of all files together.
    """

    files: int
    file_bytes: int
    bytes: int

    @property
    def archive_bytes(self) -> int:
        """Return the maximum size in bytes of the archive itself."""
        return self.bytes + MEGABYTE

    @property
    def entries(self) -> int:
        """Return the maximum number of entries of an archive, folders included."""
        return 4 * self.files

    @property
    def tar_bytes(self) -> int:
        """Return the maximum size in bytes of an unpacked tar archive."""
        return self.bytes + self.entries * 4 * _BLOCK


def is_litter(path: str) -> bool:
    """Return True for a path that file managers and tools leave behind."""
    return not _LITTER.isdisjoint(path.split("/"))


def unpack(data: bytes, limits: ArchiveLimits) -> dict[str, bytes]:
    """Return the files of a zip, tar or gzipped tar archive, by path.

    Raises:
        RefusedFilesError: It is not an archive, exceeds a limit, or has an entry that is not
            accepted.
    """
    if len(data) > limits.archive_bytes:
        _refuse(f"has more than {limits.archive_bytes} bytes: leave files out")
    try:
        if data.startswith(_ZIP):
            return _unzip(data, limits)
        return _untar(_inflated(data, limits), limits)
    except (
        *(zipfile.BadZipFile, zlib.error, EOFError, UnicodeError),
        # zipfile raises IndexError for an entry without a name.
        # TarError is a ValueError.
        *(ValueError, OverflowError, IndexError, NotImplementedError, RuntimeError),
    ) as error:
        _refuse(f"cannot be read as zip or tar ({str(error)[:_SHOWN]}): pack the folder again")


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of files; equal files give equal bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[path], zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def read_folder(path: Path, limits: ArchiveLimits) -> dict[str, bytes]:
    """Return the files of a folder on this machine, by their paths in it.

    Raises:
        RefusedFilesError: The folder exceeds a limit, or has a link or a special file.
        OSError: It cannot be read.
    """
    files: dict[str, bytes] = {}
    room = limits.bytes
    for each in _walk(path):
        name = each.relative_to(path).as_posix()
        if each.is_symlink():
            raise RefusedFilesError(f"{name} is a link: put the file itself in its place.")
        if not each.is_file():
            raise RefusedFilesError(f"{name} is not a plain file: leave it out.")
        with each.open("rb") as stream:
            files[name] = stream.read(min(room, limits.file_bytes) + 1)
        room -= len(files[name])
        if room < 0 or len(files) > limits.files:
            raise RefusedFilesError(
                f"{path} has more than {limits.files} files or {limits.bytes} bytes: leave files "
                "out."
            )
    return files


def _walk(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder except folders, in a stable order."""
    for place, folders, names in os.walk(folder):
        here = Path(place)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(name for name in folders if not is_litter(name))
        for name in sorted([*names, *links]):
            if not is_litter(name):
                yield here / name


def _unzip(data: bytes, limits: ArchiveLimits) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    # zipfile builds an object for each entry before it reports their number. Uncompressed archives
    # inside this one contain such marks too.
    if data.count(_ZIP_ENTRY) > _NESTED * limits.entries:
        _refuse(f"has more than {limits.entries} entries: leave files out")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > limits.entries:
            _refuse(f"has more than {limits.entries} entries: leave files out")
        _check_size(sum(entry.file_size for entry in entries), len(data), limits)
        for entry in entries:
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if entry.flag_bits & 1:
                _refuse(f"has an encrypted entry, {entry.filename[:_SHOWN]!r}: decrypt it")
            if entry.compress_type not in _PLAIN:
                _refuse(f"packs {entry.filename[:_SHOWN]!r} by an unknown method: use deflate")
            if entry.is_dir():
                _check_path(entry.filename)
                continue
            if kind not in (0, stat.S_IFREG):
                _refuse(f"has a link or device, {entry.filename[:_SHOWN]!r}: leave it out")
            # Without a limit, zipfile would unpack everything before it compares the sizes.
            with archive.open(entry) as stream:
                _add(files, entry.filename, stream.read(entry.file_size + 1))
    return files


def _untar(data: bytes, limits: ArchiveLimits) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    room = limits.bytes

    def take(entry: Entry) -> bool:
        nonlocal room
        if entry.is_folder:
            _check_path(entry.name)
            return False
        if not entry.is_file:
            _refuse(f"has a link or device, {entry.name[:_SHOWN]!r}: leave it out")
        room -= entry.size
        if room < 0:
            _check_size(limits.bytes + 1, len(data), limits)
        return True

    reader = TarReader(
        take=take, keep=partial(_add, files), most_entries=limits.entries, most_bytes=len(data)
    )
    reader.feed(data)
    if not reader.is_complete:
        raise TarError("it ends too early")
    return files


def _inflated(data: bytes, limits: ArchiveLimits) -> bytes:
    """Return a tar archive, unzipped if needed, up to its maximum size."""
    if not data.startswith(_GZIP):
        return data
    unpacked = zlib.decompressobj(wbits=31).decompress(data, limits.tar_bytes + 1)
    _check_size(len(unpacked) if len(unpacked) > limits.tar_bytes else 0, len(data), limits)
    _check_ratio(len(unpacked), len(data))
    return unpacked


def _check_size(unpacked: int, packed: int, limits: ArchiveLimits) -> None:
    if unpacked > limits.bytes:
        _refuse(f"unpacks to more than {limits.bytes} bytes: leave files out")
    _check_ratio(unpacked, packed)


def _check_ratio(unpacked: int, packed: int) -> None:
    if unpacked > max(_SMALL, MAX_RATIO * packed):
        _refuse(f"unpacks to more than {MAX_RATIO} times its size: leave out repetitive files")


def _check_path(path: str) -> None:
    parts = path.removesuffix("/").removeprefix("./").split("/")
    if path.startswith("/") or ".." in parts or "\\" in path or (parts[0][1:2] == ":"):
        _refuse(f"has an entry outside of its folder, {path[:_SHOWN]!r}: use relative paths")


def _add(files: dict[str, bytes], path: str, content: bytes) -> None:
    _check_path(path)
    name = path.removeprefix("./")
    if name in files:
        _refuse(f"has {name[:_SHOWN]!r} twice: leave one out")
    files[name] = content


def _refuse(message: str) -> NoReturn:
    raise RefusedFilesError(f"The archive {message}.")
