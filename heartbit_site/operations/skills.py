"""Skills, which agents load when a task needs them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from functools import partial
from typing import Annotated

from pydantic import Field

from agents.actions import skills as actions
from agents.actions.skills import SavedSkill
from agents.models import Skill, SkillVersion
from agents.reads.agents import pair
from agents.reads.skills import find_skill, skills_in, users_by_name
from agents.runtime.files.skill_files import content_of, file_of
from agents.skills.folder import read_folder
from agents.skills.snapshot import compare
from agents.skills.spec import InvalidSkillError, unpack
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.contract.skills import (
    PublishedAgentOut,
    SavedSkillOut,
    SkillContentOut,
    SkillDetailOut,
    SkillDiffOut,
    SkillIn,
    SkillOut,
    SkillsOut,
    SkillVersionOut,
    SkillVersionsOut,
)
from heartbit_site.operations.agents import Newer, Number, Older
from heartbit_site.operations.paging import list_page, page

Path = Annotated[Word, Field(min_length=1, description="Path of the file in the skill.")]


def list_skills(access: Access, *, cursor: Cursor = None, limit: Limit = USUAL) -> SkillsOut:
    """Return the skills that the workspace's agents can be given, by name."""
    users = users_by_name(access.workspace.pk)
    view = partial(_view, users=users)
    return list_page(SkillsOut, skills_in(access.workspace.pk), "name", cursor, limit, view)


def save_skill(access: Access, body: SkillIn) -> SavedSkillOut:
    """Add a skill, or a version to the skill of that name; its agents are republished.

    The folder has a `SKILL.md` in the open Agent Skills format, or `skill.json` and
    `system-prompt.md`. A body may have up to 1 MB; the admin accepts larger archives. Repeating the
    same content changes nothing.
    """
    try:
        archive = base64.b64decode(body.archive, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidSkillError(["archive is not base64: encode the archive's bytes."]) from None
    folder = read_folder(unpack(archive))
    saved = actions.save_skill(access.workspace, folder, by=actor_of(access))
    made = [f"Workflows: {', '.join(saved.workflows)}."] if saved.workflows else []
    return _saved(access, saved, note=" ".join(filter(None, [folder.note, *made, *saved.notes])))


def show_skill(access: Access, skill: Name) -> SkillDetailOut:
    """Return a skill with its instructions and the list of its files."""
    found = find_skill(access.workspace, skill)
    return SkillDetailOut.of(found, agents=_users(access, found))


def show_skill_file(access: Access, skill: Name, *, path: Path) -> SkillContentOut:
    """Return the content of a file of a skill's current version, `SKILL.md` included."""
    content = file_of(_current(find_skill(access.workspace, skill)), path)
    try:
        return SkillContentOut(path=path, encoding="utf-8", content=content.decode())
    except UnicodeDecodeError:
        text = base64.b64encode(content).decode()
        return SkillContentOut(path=path, encoding="base64", content=text)


def remove_skill(access: Access, skill: Name) -> None:
    """Delete a skill with its versions and files. 409 if agents have it, or for a shipped skill."""
    actions.remove_skill(find_skill(access.workspace, skill), by=actor_of(access))


def list_skill_versions(
    access: Access, skill: Name, *, cursor: Cursor = None, limit: Limit = USUAL
) -> SkillVersionsOut:
    """Return a skill's versions, the newest first."""
    found = find_skill(access.workspace, skill)
    rows, following = page(found.versions.all(), "-number", cursor, limit)
    versions = [SkillVersionOut.of(row, current=row.pk == found.current_version_id) for row in rows]
    return SkillVersionsOut(skill=found.name, versions=versions, next_cursor=following)


def compare_skill_versions(
    access: Access, skill: Name, *, older: Older = None, newer: Newer = None
) -> SkillDiffOut:
    """Return the differences between two versions, by default to the current one."""
    found = find_skill(access.workspace, skill)
    first, second = pair(found, older, newer)
    diff = compare(first.snapshot, second.snapshot, partial(content_of, second))
    return SkillDiffOut.of(
        diff, skill=found.name, older=first.number, newer=second.number, changed=bool(diff)
    )


def roll_skill_back(access: Access, skill: Name, number: Number) -> SavedSkillOut:
    """Make an earlier version the current one; its agents are republished."""
    found = find_skill(access.workspace, skill)
    return _saved(access, actions.rollback_skill(found, number, by=actor_of(access)))


def _current(skill: Skill) -> SkillVersion:
    version = skill.current_version
    if version is None:
        raise TypeError("a skill that is found has a version")
    return version


def _view(row: Skill, users: Mapping[str, list[str]]) -> SkillOut:
    return SkillOut.of(row, agents=users.get(row.name, []))


def _users(access: Access, row: Skill) -> list[str]:
    return users_by_name(access.workspace.pk).get(row.name, [])


def _saved(access: Access, saved: SavedSkill, note: str = "") -> SavedSkillOut:
    row = find_skill(access.workspace, saved.version.skill.name)
    published = [
        PublishedAgentOut(
            agent=one.agent.name,
            version=None if one.made is None else one.made.version.number,
            problem=one.problem,
        )
        for one in saved.led
    ]
    return SavedSkillOut.of(row, agents=_users(access, row), published=published, note=note)
