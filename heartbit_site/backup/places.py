"""Folders and key files of this installation that belong into a backup."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from django.conf import settings

from heartbit_site.base import variables
from heartbit_site.base.environment_variable import Variable

_STAGE: Final = ".heartbit-restore"
#: The variables that stand for key files.
_VARIABLES: Final[dict[str, Variable[str] | Variable[tuple[str, ...]]]] = {
    "secret_key": variables.SECRET_KEY,
    "encryption_keys": variables.ENCRYPTION_KEYS,
}


def folders() -> dict[str, Path]:
    """Return the directories of finished runs and of agents' files, by their name in a backup."""
    return {
        "archive": Path(settings.HEARTBIT_ARCHIVE_DIR),
        "drive": Path(settings.HEARTBIT_DRIVE_DIR),
    }


def key_file(name: str) -> Path:
    """Return the path of a key file."""
    path: Path = settings.ENVIRONMENT.state.path / name
    return path


def variable_of(name: str) -> str:
    """Return the variable that replaces a key file here, or an empty string."""
    variable = _VARIABLES[name]
    return variable.name if variable.read() else ""


def is_filled(directory: Path) -> bool:
    """Return True if a directory has files; hidden ones, such as locks, do not count."""
    return directory.is_dir() and any(not path.name.startswith(".") for path in directory.iterdir())


class StagedFolder:
    """A directory whose new content is complete before the old one goes.

    The content is moved, not the directory: that may be the mount point of a volume.

    Args:
        directory: The directory to fill.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.stage = directory / _STAGE

    def begin(self) -> None:
        """Make an empty place for the new content."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.discard()
        self.stage.mkdir(mode=0o700)

    def commit(self) -> None:
        """Replace the content of the directory."""
        for old in self._directory.iterdir():
            if old == self.stage:
                continue
            if old.is_dir() and not old.is_symlink():
                shutil.rmtree(old)
            else:
                old.unlink()
        for new in self.stage.iterdir():
            new.rename(self._directory / new.name)
        self.stage.rmdir()

    def discard(self) -> None:
        """Remove what an interrupted restore has left."""
        if self.stage.exists():
            shutil.rmtree(self.stage)
