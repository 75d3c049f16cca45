"""Files of the skill versions that an agent's version pins.

Usage::

    read_skill(run_id, "research")   # {"SKILL.md": b"...", "scripts/check.py": b"..."}
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from agents.definitions import snapshot
from agents.definitions.definition import PinnedSkill
from agents.errors import SkillNotFoundError
from agents.models import Run, SkillFile, SkillVersion
from agents.skills import front_matter
from agents.skills.snapshot import spec_of
from agents.skills.spec import MAIN_FILE


def skill_of_run(run_id: UUID, name: str) -> SkillVersion:
    """Return the version of a skill that a run's agent pins.

    Raises:
        SkillNotFoundError: The agent has no skill of that name, or the skill was removed.
    """
    run = Run.objects.select_related("version").get(pk=run_id)
    pinned = {skill.name: skill for skill in snapshot.pinned_skills(run.version.snapshot)}
    if name not in pinned:
        names = ", ".join(pinned) or "none"
        raise SkillNotFoundError(f"You have no skill {name[:64]!r}; your skills are: {names}.")
    return pinned_version(run.workspace_id, pinned[name])


def read_skill(run_id: UUID, name: str) -> dict[str, bytes]:
    """Return every file of one of the skills of a run's agent, by path.

    Raises:
        SkillNotFoundError: As for ``skill_of_run``.
    """
    return files_of(skill_of_run(run_id, name))


def pinned_version(workspace_id: int, pinned: PinnedSkill) -> SkillVersion:
    """Return the version of a skill with the pinned hash.

    Raises:
        SkillNotFoundError: The skill was removed.
    """
    rows = SkillVersion.objects.filter(
        Q(skill__workspace=None) | Q(skill__workspace=workspace_id),
        hash=pinned.hash,
        skill__name=pinned.name,
    )
    found = rows.select_related("skill").first()
    if found is None:
        raise SkillNotFoundError(f"The skill {pinned.name} was removed from the workspace.")
    return found


def files_of(version: SkillVersion) -> dict[str, bytes]:
    """Return every file of a version by its path, including ``SKILL.md``."""
    main = front_matter.compose(spec_of(version.snapshot)).encode()
    contents = _contents(version, (file["hash"] for file in version.files))
    return {MAIN_FILE: main} | {file["path"]: contents[file["hash"]] for file in version.files}


def file_of(version: SkillVersion, path: str) -> bytes:
    """Return a file of a version.

    Raises:
        SkillNotFoundError: There is no file with that path.
    """
    if path == MAIN_FILE:
        return front_matter.compose(spec_of(version.snapshot)).encode()
    hashes = {file["path"]: file["hash"] for file in version.files}
    if path not in hashes:
        names = ", ".join(hashes) or "none but SKILL.md"
        raise SkillNotFoundError(
            f"The skill {version.skill.name} has no file {path[:200]!r}; its files are: {names}."
        )
    return content_of(version, hashes[path])


def content_of(version: SkillVersion, digest: str) -> bytes:
    """Return the content of one of the skill's files by its hash."""
    return _contents(version, [digest])[digest]


def _contents(version: SkillVersion, digests: Iterable[str]) -> dict[str, bytes]:
    rows = SkillFile.objects.filter(skill=version.skill_id, hash__in=set(digests))
    return {digest: bytes(content) for digest, content in rows.values_list("hash", "content")}
