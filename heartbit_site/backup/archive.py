"""The file of a backup: a tar with the dump, the keys and the folders, and the manifest last.

::

    with ArchiveWriter(path) as archive:
        archive.add_file("database.dump", dump)
        archive.finish(manifest)
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Final, Self

from heartbit_site.backup import manifest as manifests
from heartbit_site.backup.errors import BackupError
from heartbit_site.backup.manifest import (
    DATABASE,
    FOLDERS,
    KEYS,
    NAME,
    BackupPart,
    Manifest,
    damaged,
)

_CHUNK: Final = 1 << 20  # bytes
_IN_MEMORY: Final = 16 << 20  # bytes
_PRIVATE: Final = 0o600


class ArchiveWriter:
    """A new file of a backup, readable by its owner alone.

    Args:
        path: It does not exist yet.

    Attributes:
        parts: Parts so far.
    """

    def __init__(self, path: Path) -> None:
        self.parts: dict[str, BackupPart] = {}
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb")
        self._tar = tarfile.TarFile(fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # a full disk has been reported
            self._tar.close()
        self._file.close()

    def add_file(self, name: str, path: Path) -> None:
        """Add a file that does not change."""
        with path.open("rb") as source:
            self._add(name, source, path.stat().st_size, _PRIVATE)

    def add_folder(self, name: str, directory: Path) -> None:
        """Add the regular files of a directory; those that vanish meanwhile are left out."""
        for path in sorted(directory.rglob("*")):
            try:
                self._add_changing(f"{name}/{path.relative_to(directory).as_posix()}", path)
            except FileNotFoundError:
                continue

    def finish(self, manifest: Manifest) -> None:
        """Add the manifest, and have the disk keep the file."""
        data = manifest.to_bytes()
        self._add(NAME, io.BytesIO(data), len(data), _PRIVATE)
        self._tar.close()
        self._file.flush()
        os.fsync(self._file.fileno())

    def _add_changing(self, name: str, path: Path) -> None:
        """Add a file as it is now, whatever its size becomes meanwhile; no link is followed."""
        if not stat.S_ISREG(path.lstat().st_mode):
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as source, _copy(source) as (copy, size):
            self._add(name, copy, size, stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o777)

    def _add(self, name: str, source: IO[bytes], size: int, mode: int) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode = size, mode
        reader = _Hashing(source)
        self._tar.addfile(info, reader)
        self.parts[name] = BackupPart(size=size, sha256=reader.sha256, mode=mode)


class ArchiveReader:
    """The file of a backup.

    Args:
        path: The file.

    Raises:
        BackupError: It cannot be read, is damaged, or is of a newer Heartbit.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._tar = tarfile.TarFile(path)
            members = self._tar.getmembers()
        except OSError as error:
            raise BackupError(f"{path} cannot be read: {error.strerror or error}.") from error
        except tarfile.TarError as error:
            raise damaged(str(path)) from error
        self._members = {member.name: member for member in members if member.isreg()}
        if NAME not in self._members or len(self._members) != len(members):
            raise damaged(str(path))
        self.manifest: Final = manifests.read_manifest(self._read(NAME), str(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tar.close()

    def verify(self) -> None:
        """Read every part, and compare it with the manifest.

        Raises:
            BackupError: A part is missing, unknown or changed.
        """
        if self._members.keys() != {NAME, *self.manifest.parts}:
            raise damaged(str(self._path))
        for name, part in self.manifest.parts.items():
            if not _is_allowed(name):
                raise damaged(str(self._path), name)
            source = self._open(name)
            try:
                found = hashlib.file_digest(source, "sha256").hexdigest()  # type: ignore[arg-type]
            except (OSError, tarfile.TarError) as error:
                raise damaged(str(self._path), name) from error
            if (found, self._members[name].size) != (part.sha256, part.size):
                raise damaged(str(self._path), name)

    def read_key(self, name: str) -> str:
        """Return the text of a key file."""
        return self._read(f"keys/{name}").decode()

    def extract(self, name: str, target: Path) -> None:
        """Write a part into a new file."""
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = self.manifest.parts[name].mode
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            source = self._open(name)
            while chunk := source.read(_CHUNK):
                file.write(chunk)

    def names_in(self, folder: str) -> list[str]:
        """Return the parts in a folder."""
        return [name for name in self.manifest.parts if name.startswith(f"{folder}/")]

    def _read(self, name: str) -> bytes:
        return self._open(name).read()

    def _open(self, name: str) -> IO[bytes]:
        source = self._tar.extractfile(self._members[name])
        if source is None:  # no regular file, which the constructor has refused
            raise damaged(str(self._path), name)
        return source


class _Hashing:
    """A file whose checksum is known once it has been read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        return data


@contextmanager
def _copy(source: IO[bytes]) -> Iterator[tuple[IO[bytes], int]]:
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as copy:
        size = 0
        while chunk := source.read(_CHUNK):
            size += copy.write(chunk)
        copy.seek(0)
        yield copy, size


def _is_allowed(name: str) -> bool:
    """Return True if a part has a place in an installation, and no path leads out of it."""
    if name == DATABASE or name in {f"keys/{key}" for key in KEYS}:
        return True
    parts = PurePosixPath(name).parts
    return len(parts) > 1 and parts[0] in FOLDERS and ".." not in parts and "\\" not in name
