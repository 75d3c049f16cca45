"""Drive of a workspace in a directory of this machine, also as a source of documents.

Each part of a path is opened relative to the part before it and never through a link, so no name
leads out of the workspace's folder, even while other programs write there. Django's file storage
resolves paths as text and follows links, so it is not used.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from django.conf import settings

from tools.connectors.drive import files as drive

MAX_BYTES: Final = 1_000_000_000  # of a workspace's folder
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not block
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class FolderDrive:
    """Implementation of ``Drive`` for one workspace.

    Args:
        root: Its folder; created with the first file.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    async def entries(self, folder: str) -> list[drive.FileEntry]:
        """Return the files below a folder; see ``Drive``."""
        return await asyncio.to_thread(self.list_below, drive.checked_folder(folder))

    async def read(self, name: str) -> bytes:
        """Return a file's content; see ``Drive``."""
        return await asyncio.to_thread(self.read_whole, drive.checked_name(name))

    async def write(self, name: str, data: bytes, *, replace: bool) -> None:
        """Write a file atomically; see ``Drive``."""
        name = drive.checked_name(name)
        await asyncio.to_thread(self.write_whole, name, data, replace=replace)

    def list_below(self, folder: str) -> list[drive.FileEntry]:
        """Do the work of ``entries`` in a thread; the folder's name is in normal form."""
        try:
            with self._opened(folder) as top:
                return sorted(_walk(top, f"{folder}/" if folder else ""), key=lambda e: e.name)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unusable(folder or "the drive", error) from None

    def read_whole(self, name: str) -> bytes:
        """Do the work of ``read`` in a thread; the name is in normal form."""
        folder, _, last = name.rpartition("/")
        try:
            with self._opened(folder) as parent:
                file = os.open(last, _FILE, dir_fd=parent)
                with os.fdopen(file, "rb") as opened:
                    found = os.fstat(file)
                    if not _is_plain(found):
                        raise drive.DriveError(f"{name} is not a plain file.")
                    if found.st_size > drive.MAX_FILE_BYTES:
                        raise drive.too_large(name)
                    return opened.read(drive.MAX_FILE_BYTES)
        except FileNotFoundError:
            raise drive.missing(name) from None
        except OSError as error:
            raise _unusable(name, error) from None

    def remove(self, name: str) -> None:
        """Delete a file; the name is in normal form, and folders stay."""
        folder, _, last = name.rpartition("/")
        try:
            with self._opened(folder) as parent:
                if not _is_plain(os.stat(last, dir_fd=parent, follow_symlinks=False)):
                    raise drive.DriveError(f"{name} is not a plain file.")
                os.unlink(last, dir_fd=parent)
        except FileNotFoundError:
            raise drive.missing(name) from None
        except OSError as error:
            raise _unusable(name, error) from None

    def write_whole(self, name: str, data: bytes, *, replace: bool) -> None:
        """Do the work of ``write`` in a thread; the name is in normal form."""
        if len(data) > drive.MAX_FILE_BYTES:
            raise drive.too_large(name)
        present = self.list_below("")
        if sum(entry.size for entry in present) + len(data) > MAX_BYTES or (
            len(present) >= drive.MAX_FILES and all(entry.name != name for entry in present)
        ):
            raise drive.DriveError(
                f"The drive is full: it may hold {drive.MAX_FILES} files and {MAX_BYTES} bytes."
            )
        folder, _, last = name.rpartition("/")
        part = f".{secrets.token_hex(8)}.part"
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._opened(folder, create=True) as parent:
                try:
                    with os.fdopen(os.open(part, _NEW, 0o600, dir_fd=parent), "wb") as file:
                        file.write(data)
                        file.flush()
                        os.fsync(file.fileno())
                    if replace:
                        os.rename(part, last, src_dir_fd=parent, dst_dir_fd=parent)
                    else:
                        os.link(part, last, src_dir_fd=parent, dst_dir_fd=parent)
                finally:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(part, dir_fd=parent)
        except FileExistsError:
            if self.read_whole(name) != data:
                raise drive.exists(name) from None
        except OSError as error:
            raise _unusable(name, error) from None

    @contextlib.contextmanager
    def _opened(self, folder: str, *, create: bool = False) -> Iterator[int]:
        """Open a folder below the root, part by part."""
        opened = os.open(self._root, _FOLDER)
        try:
            for part in folder.split("/") if folder else ():
                if create:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, 0o700, dir_fd=opened)
                below = os.open(part, _FOLDER, dir_fd=opened)
                os.close(opened)
                opened = below
            yield opened
        finally:
            os.close(opened)


def workspace_drive(workspace_id: int) -> FolderDrive:
    """Return the drive of a workspace."""
    return FolderDrive(Path(settings.HEARTBIT_DRIVE_DIR) / str(workspace_id))


def _walk(top: int, prefix: str) -> Iterator[drive.FileEntry]:
    """Yield the plain files below a folder that have a usable name."""
    seen = 0
    for place, folders, files, opened in os.fwalk(dir_fd=top):
        below = prefix if place == "." else f"{prefix}{place.removeprefix('./')}/"
        folders[:] = [each for each in folders if drive.is_name(f"{below}{each}")]
        for file in files:
            name = f"{below}{file}"
            if not drive.is_name(name):
                continue
            with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                found = os.stat(file, dir_fd=opened, follow_symlinks=False)
                if _is_plain(found):
                    yield drive.FileEntry(
                        name, found.st_size, datetime.fromtimestamp(found.st_mtime, UTC)
                    )
                    seen += 1
            if seen >= drive.MAX_FILES:
                return


def _is_plain(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def _unusable(name: str, error: OSError) -> drive.DriveError:
    return drive.DriveError(f"{name} cannot be used: {os.strerror(error.errno or 0)}.")


class DriveSource:
    """Implementation of ``FolderSource`` over the folder of each workspace, not over buckets."""

    def folder(self, name: str) -> str:
        """Return a folder's name in normal form.

        Raises:
            DriveError: The name is not a folder below the drive's root.
        """
        found = drive.checked_folder(name)
        if not found:
            raise drive.DriveError("Name a folder of the drive, such as handbook, not the root.")
        return found

    def names(self, workspace_id: int, folder: str) -> tuple[list[str], bool]:
        """Return the files below a folder by name, and True if the list is complete."""
        found = workspace_drive(workspace_id).list_below(folder)
        return [entry.name for entry in found], len(found) < drive.MAX_FILES

    def read(self, workspace_id: int, name: str) -> bytes:
        """Return a file's content.

        Raises:
            DriveError: The file is missing, too large, or not a plain file.
        """
        return workspace_drive(workspace_id).read_whole(drive.checked_name(name))
