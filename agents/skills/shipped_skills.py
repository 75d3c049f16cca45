"""Skills that ship with Heartbit: the folders in ``shipped``. Pure."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from agents.skills.archive import read_path
from agents.skills.folder import SkillFolder, read_folder

_FOLDER: Final = Path(__file__).with_name("shipped")


@cache
def shipped_skills() -> tuple[SkillFolder, ...]:
    """Return the shipped skills, by name."""
    folders = sorted(path for path in _FOLDER.iterdir() if path.is_dir())
    return tuple(read_folder(read_path(path)) for path in folders)
