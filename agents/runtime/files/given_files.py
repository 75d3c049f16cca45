"""Files that a person gives to a run at its start, by their paths in the run's folder. Pure.

Usage::

    read_paths([Path("data.csv"), Path("repo")])   # {"data.csv": ..., "repo/app.py": ...}
    decode({"data.csv": "aWQK"}, "UEsDB...")       # from a request
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from pathlib import Path

from agents.runtime.files.folder_limits import LIMITS
from heartbit_site.base.archives import RefusedFilesError, is_litter, read_folder, unpack


def decode(files: Mapping[str, str], archive: str) -> dict[str, bytes]:
    """Return the files of a request; named files replace files of the archive.

    Args:
        files: Content in base64, by path.
        archive: A zip, tar or tar.gz archive in base64; empty: none.

    Raises:
        RefusedFilesError: A file is not base64, or the archive is not accepted.
    """
    given = _unpacked(_from_base64(archive, "archive")) if archive else {}
    return given | {path: _from_base64(text, path) for path, text in files.items()}


def read_paths(paths: Iterable[Path], archives: Iterable[Path] = ()) -> dict[str, bytes]:
    """Read files of this machine.

    Args:
        paths: Files, which keep their names, and folders, whose files keep their relative paths.
        archives: zip, tar or tar.gz archives, which are unpacked.

    Raises:
        RefusedFilesError: A path cannot be read, is not accepted, or is given twice.
    """
    given: dict[str, bytes] = {}
    for path in archives:
        _add(given, _unpacked(_read(path, LIMITS.archive_bytes)))
    for path in paths:
        _add(given, read_path(path, path.resolve().name))
    return given


def read_path(path: Path, name: str) -> dict[str, bytes]:
    """Read a file of this machine under a name, or the files of a folder below that name.

    Raises:
        RefusedFilesError: The path cannot be read or is not accepted.
    """
    if not path.is_dir():
        return {name: _read(path, LIMITS.file_bytes)}
    try:
        found = read_folder(path, LIMITS)
    except OSError as error:
        raise _unreadable(path, error) from error
    return {f"{name}/{each}": content for each, content in found.items()}


def _add(given: dict[str, bytes], more: Mapping[str, bytes]) -> None:
    if twice := sorted(given.keys() & more.keys()):
        raise RefusedFilesError(f"{twice[0]} is given twice: rename one, or leave it out.")
    given.update(more)


def _unpacked(data: bytes) -> dict[str, bytes]:
    found = unpack(data, LIMITS)
    return {path: content for path, content in found.items() if not is_litter(path)}


def _read(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise _unreadable(path, error) from error
    if len(data) > limit:
        raise RefusedFilesError(f"{path} has more than {limit} bytes: make it smaller.")
    return data


def _unreadable(path: Path, error: OSError) -> RefusedFilesError:
    return RefusedFilesError(f"{path} cannot be read: {error.strerror or error}.")


def _from_base64(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise RefusedFilesError(f"{what[:200]} is not base64: encode its bytes.") from None
