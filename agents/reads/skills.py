"""Skills of a workspace: its own, and the shipped ones that it has not replaced."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Exists, OuterRef, Q, QuerySet

from agents.definitions.definition import PinnedSkill
from agents.errors import SkillNotFoundError
from agents.models import Agent, Skill, SkillVersion
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace
from tools.texts.near_names import closest


def skills_in(workspace_id: int) -> QuerySet[Skill]:
    """Return the skills that a workspace's agents can be given, with their current versions."""
    own = Skill.objects.filter(workspace=workspace_id, name=OuterRef("name"))
    rows = Skill.objects.filter(Q(workspace=workspace_id) | Q(workspace=None) & ~Exists(own))
    return rows.filter(current_version__isnull=False).select_related("current_version", "workspace")


def find_skill(workspace: Workspace, name: str) -> Skill:
    """Return a skill of a workspace by its name.

    Raises:
        SkillNotFoundError: The workspace has no such skill.
    """
    rows = skills_in(workspace.pk)
    found = rows.filter(name=name).first()
    if found is None:
        near = closest(name, list(rows.values_list("name", flat=True)))
        hint = f": did you mean {near[0]}?" if near else "."
        raise SkillNotFoundError(
            f"There is no skill named {name[:64]!r}{hint}",
            remedy=None if near else Remedy("skills.list_skills"),
        )
    return found


def current_versions(workspace_id: int, names: Collection[str]) -> dict[str, SkillVersion]:
    """Return the current versions of skills by name, sorted; unknown names are left out."""
    if not names:
        return {}
    rows = skills_in(workspace_id).filter(name__in=names).order_by("name")
    return {row.name: row.current_version for row in rows if row.current_version is not None}


def pinned(versions: dict[str, SkillVersion]) -> list[PinnedSkill]:
    """Return the part of an agent's snapshot that describes its skills."""
    return [PinnedSkill(name, one.description, one.hash) for name, one in versions.items()]


def users_of(skill: Skill) -> QuerySet[Agent]:
    """Return the agents that have a skill, by name; a shipped one has users in every workspace."""
    agents = Agent.objects.filter(origin="", skills__contains=[skill.name]).order_by("name")
    if skill.workspace_id is not None:
        return agents.filter(workspace=skill.workspace_id)
    own = Skill.objects.filter(workspace=OuterRef("workspace"), name=skill.name)
    return agents.filter(~Exists(own))


def users_by_skill(skills: Collection[Skill], agents: QuerySet[Agent]) -> dict[int, list[str]]:
    """Return names of agents by the key of the skill that they have, as ``users_of`` finds them.

    Args:
        skills: Of any workspaces, or shipped.
        agents: Those that may be named.
    """
    names = {skill.name for skill in skills}
    rows = Skill.objects.filter(workspace__isnull=False, name__in=names)
    own = {(row.workspace_id, row.name): row.pk for row in rows}
    shipped = {skill.name: skill.pk for skill in skills if skill.shipped}
    found: dict[int, list[str]] = {skill.pk: [] for skill in skills}
    having = agents.filter(origin="").exclude(skills=[]).order_by("name")
    for workspace_id, agent, given in having.values_list("workspace_id", "name", "skills"):
        for name in given:
            key = own.get((workspace_id, name), shipped.get(name))
            if key in found:
                found[key].append(agent)
    return found


def users_by_name(workspace_id: int) -> dict[str, list[str]]:
    """Return the names of a workspace's agents by the skill that they have."""
    rows = Agent.objects.filter(workspace=workspace_id, origin="").exclude(skills=[])
    found: dict[str, list[str]] = {}
    for name, skills in rows.order_by("name").values_list("name", "skills"):
        for skill in skills:
            found.setdefault(skill, []).append(name)
    return found
