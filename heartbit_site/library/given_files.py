"""Files that a program gives to a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agents.runtime.files.given_files import read_path

GivenFile = str | bytes | Path


def read_files(files: Mapping[str, GivenFile]) -> dict[str, bytes]:
    """Return the content of files by their paths in the run's folder.

    Args:
        files: Text, bytes, or the ``Path`` of a file or a folder on this machine, by path.

    Raises:
        RefusedFilesError: A ``Path`` cannot be read or is not accepted.
    """
    found: dict[str, bytes] = {}
    for name, given in files.items():
        if isinstance(given, Path):
            found |= read_path(given, name)
        else:
            found[name] = given.encode() if isinstance(given, str) else bytes(given)
    return found
