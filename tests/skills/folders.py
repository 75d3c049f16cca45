"""Folders of skills for tests."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from agents.skills.folder import read_folder
from agents.skills.spec import pack

if TYPE_CHECKING:
    from agents.skills.folder import SkillFolder


def skill_files(
    name: str = "greeting",
    description: str = "Greets people. Use it when somebody arrives.",
    *,
    body: str = "Say hello.",
    more: str = "",
    **files: bytes,
) -> dict[str, bytes]:
    """The files of a skill; two underscores in a name are a slash."""
    head = f"---\nname: {name}\ndescription: {description}\n{more}---\n"
    named = {path.replace("__", "/"): data for path, data in files.items()}
    return {"SKILL.md": f"{head}{body}\n".encode(), **named}


def skill_folder(*words: str, body: str = "Say hello.", **more: object) -> SkillFolder:
    """A skill as it is read from these files."""
    return read_folder(skill_files(*words, body=body, **more))  # type: ignore[arg-type]


def in_base64(files: dict[str, bytes]) -> str:
    """An archive of files, as a request has it."""
    return base64.b64encode(pack(files)).decode()
