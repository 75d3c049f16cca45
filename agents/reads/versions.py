"""Versions of an agent or a skill: find one, list them all, choose two."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

from django.db.models import Count

from agents.definitions import snapshot
from agents.definitions.definition import AgentDefinition
from agents.models import Agent, AgentVersion, Run, Skill, SkillVersion
from agents.reads.agents import find_agent
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.models import Workspace


class VersionNotFoundError(NotFoundError):
    """The agent or skill has no such version."""


def find_editable(workspace: Workspace, name: str) -> Agent:
    """Return an editable agent, even if it is stopped.

    Raises:
        AgentNotFoundError: No agent has that name; the message lists those that exist.
    """
    agents = Agent.objects.filter(workspace=workspace, origin="", name=name)
    found = agents.select_related("current_version", "workspace").first()
    return found if found is not None else find_agent(workspace, name)


def versions_of(agent: Agent) -> list[tuple[AgentVersion, int]]:
    """Return all versions of an agent, the newest first, each with the number of its runs."""
    return with_runs(agent.versions.order_by("-number"))


def with_runs(versions: Iterable[AgentVersion]) -> list[tuple[AgentVersion, int]]:
    """Return the versions, each with the number of its runs."""
    found = list(versions)
    runs = Run.objects.filter(version__in=found).order_by().values_list("version")
    pinned = dict(runs.annotate(Count("pk")))
    return [(version, pinned.get(version.pk, 0)) for version in found]


@overload
def find_version(owner: Agent, number: int) -> AgentVersion: ...
@overload
def find_version(owner: Skill, number: int) -> SkillVersion: ...
def find_version(owner: Agent | Skill, number: int) -> AgentVersion | SkillVersion:
    """Return a version of an agent or a skill by its number.

    Raises:
        VersionNotFoundError: There is no such version.
    """
    found = owner.versions.filter(number=number).first()
    if found is None:
        numbers = [
            str(n) for n in owner.versions.order_by("number").values_list("number", flat=True)
        ]
        there = ", ".join(numbers) if len(numbers) < 10 else f"1 to {numbers[-1]}"
        raise VersionNotFoundError(
            f"The {owner._meta.verbose_name} {owner.name} has no version {number}; there are: "
            f"{there or 'none yet'}."
        )
    return found


@overload
def pair(
    owner: Agent, older: int | None = None, newer: int | None = None
) -> tuple[AgentVersion, AgentVersion]: ...
@overload
def pair(
    owner: Skill, older: int | None = None, newer: int | None = None
) -> tuple[SkillVersion, SkillVersion]: ...
def pair(owner: Any, older: int | None = None, newer: int | None = None) -> tuple[Any, Any]:
    """Return two versions to compare, by default the current one and the one before.

    Args:
        owner: Agent or skill of the versions.
        older: Number of the first; None: the one before ``newer``.
        newer: Number of the second; None: the current one.

    Raises:
        VersionNotFoundError: There is no such version.
    """
    if newer is not None:
        second = find_version(owner, newer)
    elif owner.current_version is not None:
        second = owner.current_version
    else:
        noun = owner._meta.verbose_name
        raise VersionNotFoundError(f"The {noun} {owner.name} was never published.")
    if older is not None:
        return find_version(owner, older), second
    before = owner.versions.filter(number__lt=second.number).order_by("-number").first()
    return before or second, second


def definition_of(version: AgentVersion) -> AgentDefinition:
    """Return the definition of a version for the engine."""
    return snapshot.read(version.pk, version.agent_id, version.agent.name, version.snapshot)
