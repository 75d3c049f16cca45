"""Archives of skills, which strangers may have packed: zip and tar, read within limits. Pure.

Every entry is a plain file or folder with a relative path, or the whole archive is refused. Nothing
is written to a disk, and an archive inside an archive is a file like any other.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING, Final, NoReturn

from agents.skills.faults import InvalidSkillError
from agents.skills.folder import is_litter
from agents.skills.spec import MAX_BYTES, MAX_FILE_BYTES, MAX_FILES, MAX_PATH, MEGABYTE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MAX_ARCHIVE_BYTES: Final = MAX_BYTES + MEGABYTE
MAX_ENTRIES: Final = 4 * MAX_FILES  # folders count too
MAX_RATIO: Final = 100
_SMALL: Final = MEGABYTE  # a small archive may unpack to so much, whatever its ratio
_BLOCK: Final = 512
_MAX_TAR_BYTES: Final = MAX_BYTES + MAX_ENTRIES * 4 * _BLOCK
_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK"
_PLAIN: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def unpack(data: bytes) -> dict[str, bytes]:
    """Return the files of a zip, tar or gzipped tar archive, by path.

    Raises:
        InvalidSkillError: It is none, or it has an entry that is not accepted, or too much.
    """
    if len(data) > MAX_ARCHIVE_BYTES:
        _refuse(f"has more than {MAX_ARCHIVE_BYTES} bytes: leave files out")
    try:
        return _unzip(data) if data.startswith(_ZIP) else _untar(_inflated(data))
    except (
        *(zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, UnicodeError),
        *(ValueError, OverflowError, NotImplementedError, RuntimeError),
    ) as error:
        _refuse(f"cannot be read as zip or tar ({str(error)[:MAX_PATH]}): pack the folder again")


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a zip archive of files; equal files give equal bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[path], zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def read_path(path: Path) -> dict[str, bytes]:
    """Return the files of a folder or an archive on this machine.

    Raises:
        InvalidSkillError: A file of the folder is a link or none at all, or it is too much.
        OSError: It cannot be read.
    """
    if not path.is_dir():
        with path.open("rb") as stream:
            return unpack(stream.read(MAX_ARCHIVE_BYTES + 1))
    files: dict[str, bytes] = {}
    room = MAX_BYTES
    for each in _walk(path):
        name = each.relative_to(path).as_posix()
        if each.is_symlink():
            raise InvalidSkillError([f"{name} is a link: put the file itself in its place."])
        if not each.is_file():
            raise InvalidSkillError([f"{name} is no plain file: leave it out."])
        with each.open("rb") as stream:
            files[name] = stream.read(min(room, MAX_FILE_BYTES) + 1)
        room -= len(files[name])
        if room < 0 or len(files) > MAX_FILES:
            raise InvalidSkillError(
                [f"{path} has more than {MAX_FILES} files or {MAX_BYTES} bytes: leave files out."]
            )
    return files


def _walk(folder: Path) -> Iterator[Path]:
    """Yield what is in a folder and below, except folders, in a stable order."""
    for place, folders, names in os.walk(folder):
        here = folder / place
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(name for name in folders if not is_litter(name))
        for name in sorted([*names, *links]):
            if not is_litter(name):
                yield here / name


def _unzip(data: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            _refuse(f"has more than {MAX_ENTRIES} entries: leave files out")
        _check_size(sum(entry.file_size for entry in entries), len(data))
        for entry in entries:
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if entry.flag_bits & 1:
                _refuse(f"has an encrypted entry, {entry.filename[:MAX_PATH]!r}: pack it openly")
            if entry.compress_type not in _PLAIN:
                _refuse(f"packs {entry.filename[:MAX_PATH]!r} in an unusual way: use deflate")
            if entry.is_dir():
                _check_path(entry.filename)
                continue
            if kind not in (0, stat.S_IFREG):
                _refuse(f"has a link or device, {entry.filename[:MAX_PATH]!r}: leave it out")
            _add(files, entry.filename, archive.read(entry))
    return files


def _untar(data: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    room = MAX_BYTES
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for count, entry in enumerate(archive, 1):
            if count > MAX_ENTRIES:
                _refuse(f"has more than {MAX_ENTRIES} entries: leave files out")
            if entry.isdir():
                _check_path(entry.name)
                continue
            if entry.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or entry.issparse():
                _refuse(f"has a link or device, {entry.name[:MAX_PATH]!r}: leave it out")
            room -= entry.size
            if room < 0:
                _check_size(MAX_BYTES + 1, len(data))
            content = archive.extractfile(entry)
            _add(files, entry.name, content.read() if content is not None else b"")
    return files


def _inflated(data: bytes) -> bytes:
    """Return a tar archive, of one that may be gzipped: never more than a skill may have."""
    if not data.startswith(_GZIP):
        return data
    unpacked = zlib.decompressobj(wbits=31).decompress(data, _MAX_TAR_BYTES + 1)
    _check_size(len(unpacked) if len(unpacked) > _MAX_TAR_BYTES else 0, len(data))
    _check_ratio(len(unpacked), len(data))
    return unpacked


def _check_size(unpacked: int, packed: int) -> None:
    if unpacked > MAX_BYTES:
        _refuse(f"unpacks to more than {MAX_BYTES} bytes: leave files out")
    _check_ratio(unpacked, packed)


def _check_ratio(unpacked: int, packed: int) -> None:
    if unpacked > max(_SMALL, MAX_RATIO * packed):
        _refuse(f"unpacks to more than {MAX_RATIO} times its size, as no skill does")


def _check_path(path: str) -> None:
    parts = path.removesuffix("/").removeprefix("./").split("/")
    if path.startswith("/") or ".." in parts or "\\" in path or (parts[0][1:2] == ":"):
        _refuse(f"has an entry outside of its folder, {path[:MAX_PATH]!r}: use relative paths")


def _add(files: dict[str, bytes], path: str, content: bytes) -> None:
    _check_path(path)
    name = path.removeprefix("./")
    if name in files:
        _refuse(f"has {name[:MAX_PATH]!r} twice: leave one out")
    files[name] = content


def _refuse(message: str) -> NoReturn:
    raise InvalidSkillError([f"The archive {message}."])
