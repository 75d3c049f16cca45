"""Save, roll back and remove skills, and publish the agents that have them.

Usage::

    saved = save_skill(workspace, read_folder(unpack(archive)), by=actor)
    saved.version.number, saved.led      # the agents' new versions, or why there are none
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction
from django.db.models import Max

from agents.actions.publish_agent import Led, publish_again
from agents.actions.skill_workflows import read_workflows, write_workflows
from agents.errors import ShippedSkillError, SkillInUseError
from agents.models import Skill, SkillFile, SkillVersion
from agents.reads.agents import find_version
from agents.reads.skills import users_of
from agents.skills import snapshot
from agents.skills.folder import SkillFolder, shipped_skills
from heartbit_site.base import audit
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import execute
from heartbit_site.base.rights import require


@dataclass(frozen=True, slots=True)
class SavedSkill:
    """Result of storing a skill or of rolling it back.

    Attributes:
        version: The current version.
        before: Number of the version that was current before; None: there was none.
        led: The agents that have the skill, published again.
        workflows: Names of its step workflows, which are definitions of the workspace now.
        notes: Sentences on workflows that cannot run yet.
    """

    version: SkillVersion
    before: int | None
    led: list[Led] = field(default_factory=list)
    workflows: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return True if the current version changed."""
        return self.before != self.version.number


@transaction.atomic
def save_skill(workspace: Workspace, folder: SkillFolder, *, by: Actor) -> SavedSkill:
    """Add a skill to a workspace, or a version to the skill of that name.

    A skill with the name of a shipped one replaces it in the workspace. If a version already has
    this content, it becomes the current one. Its ``workflows.json`` becomes workflows of the
    workspace, named ``SKILL-WORKFLOW``; they stay if the skill is removed.

    Raises:
        InvalidSkillError: A workflow of its file cannot run, whatever agents there are.
    """
    require(by, "agents:write", workspace_id=workspace.pk)
    specs = read_workflows(folder)
    locked = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    skill, is_new = Skill.objects.get_or_create(workspace=locked, name=folder.spec.name)
    saved = _take(skill, store_version(skill, folder))
    saved = _publish(skill, saved, "skill.add" if is_new else "skill.change", by)
    written, notes = write_workflows(locked, specs, by=by)
    return replace(saved, workflows=written, notes=notes)


@transaction.atomic
def rollback_skill(skill: Skill, number: int, *, by: Actor) -> SavedSkill:
    """Make an earlier version of a skill the current one, and publish the agents that have it.

    Raises:
        VersionNotFoundError: The skill has no such version.
        ShippedSkillError: The skill belongs to the installation.
    """
    require(by, "agents:write", workspace_id=skill.workspace_id)
    if skill.workspace is None:
        raise ShippedSkillError(
            f"{skill.name} ships with Heartbit and has the version of this release: add a skill of "
            "that name to replace it."
        )
    Workspace.objects.select_for_update(no_key=True).get(pk=skill.workspace.pk)
    saved = _take(skill, find_version(skill, number))
    return _publish(skill, saved, "skill.rollback", by, to=number)


def _publish(skill: Skill, saved: SavedSkill, action: str, by: Actor, **details: Any) -> SavedSkill:
    """Publish the agents that have a skill, and record its new version, if it has one."""
    if not saved:
        return saved
    led = publish_again(users_of(skill), by=by)
    numbers = {**details, "version": [saved.before, saved.version.number]}
    audit.record_on(by, action, skill, details=numbers)
    return replace(saved, led=led)


def store_version(skill: Skill, folder: SkillFolder) -> SkillVersion:
    """Return the version of a skill with this content, stored if it is new.

    The caller holds a lock that excludes other writers of the skill.
    """
    content = snapshot.write(folder)
    digest = snapshot.digest(content)
    version = SkillVersion.objects.filter(skill=skill, hash=digest).first()
    if version is not None:
        return version
    files = {snapshot.hash_of(data): data for data in folder.files.values()}
    SkillFile.objects.bulk_create(
        [
            SkillFile(skill=skill, hash=name, size=len(data), content=data)
            for name, data in sorted(files.items())
        ],
        ignore_conflicts=True,
    )
    newest = SkillVersion.objects.filter(skill=skill).aggregate(newest=Max("number"))["newest"]
    return SkillVersion.objects.create(
        skill=skill, number=(newest or 0) + 1, hash=digest, snapshot=content
    )


def _take(skill: Skill, version: SkillVersion) -> SavedSkill:
    """Make a version the current one."""
    current = Skill.objects.select_for_update(of=("self",)).select_related("current_version")
    former = current.get(pk=skill.pk).current_version
    if former is None or former.pk != version.pk:
        skill.current_version = version
        skill.save(update_fields=["current_version", "updated_at"])
    return SavedSkill(version, None if former is None else former.number)


@transaction.atomic
def remove_skill(skill: Skill, *, by: Actor) -> list[Led]:
    """Delete a skill with its versions and files.

    If it replaced a shipped skill, its agents get the shipped one: they are published again and
    returned. Runs that are pinned to the deleted skill can no longer load it.

    Raises:
        ShippedSkillError: The skill belongs to the installation.
        SkillInUseError: Agents have the skill, and no shipped skill has its name.
    """
    require(by, "agents:write", workspace_id=skill.workspace_id)
    if skill.workspace is None:
        raise ShippedSkillError(
            f"{skill.name} ships with Heartbit and stays: agents without it never see it."
        )
    Workspace.objects.select_for_update(no_key=True).get(pk=skill.workspace.pk)
    users = list(users_of(skill))
    is_replacement = Skill.objects.filter(workspace=None, name=skill.name).exists()
    if users and not is_replacement:
        names = ", ".join(agent.name for agent in users[:5])
        raise SkillInUseError(f"{skill.name} is a skill of {names}: take it from them first.")
    number = skill.pk
    skill.delete()
    skill.pk = number  # the entry names it
    led = publish_again(users, by=by)
    record_on(by, "skill.remove", skill)
    return led


_LOCK = "LOCK TABLE agents_skill IN SHARE ROW EXCLUSIVE MODE"


def record_shipped_skills() -> None:
    """Update the rows of shipped skills to this release; one query if nothing changed.

    ``republish_agents`` publishes the agents that have a changed skill.
    """
    rows = Skill.objects.filter(workspace=None)
    before = dict(rows.values_list("name", "current_version__hash"))
    now = {folder.spec.name: folder for folder in shipped_skills()}
    hashes = {name: snapshot.digest(snapshot.write(folder)) for name, folder in now.items()}
    if before == hashes:
        return
    with transaction.atomic():
        execute(_LOCK)  # processes of two releases may start at once
        for name, folder in now.items():
            skill, _ = Skill.objects.get_or_create(workspace=None, name=name)
            version = store_version(skill, folder)
            if skill.current_version_id != version.pk:
                skill.current_version = version
                skill.save(update_fields=["current_version", "updated_at"])
        rows.exclude(name__in=now).delete()
