"""Publish an agent: make its present settings the version that new runs are pinned to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max

from agents.actions.check_agent_settings import check_agent
from agents.definitions import snapshot
from agents.definitions.server_grants import expand
from agents.models import Agent, AgentVersion
from agents.reads.agent_settings import spec_of
from agents.reads.skills import current_versions, pinned
from heartbit_site.base.audit import SYSTEM, Actor, record_on
from heartbit_site.base.rights import require
from tools.definitions import catalogue as definitions
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash


@dataclass(frozen=True, slots=True)
class Publication:
    """Result of publishing an agent.

    Attributes:
        version: The current version.
        before: Number of the version that was current before; None: there was none.
    """

    version: AgentVersion
    before: int | None

    def __bool__(self) -> bool:
        """Return True if the current version changed."""
        return self.before != self.version.number

    def said(self) -> dict[str, Any]:
        """Return the change for an audit entry: the old and the new number, or nothing."""
        return {"version": [self.before, self.version.number]} if self else {}


@transaction.atomic
def publish_agent(agent: Agent, *, by: Actor = SYSTEM) -> AgentVersion:
    """Publish an agent, and write an audit entry if its current version changed.

    Raises:
        ConfigurationError: As for ``make_current``.
    """
    require(by, "agents:write", workspace_id=agent.workspace_id)
    made = make_current(agent)
    record_publication(agent, made, by=by)
    return made.version


def record_publication(agent: Agent, made: Publication, *, by: Actor) -> None:
    """Write the audit entry of a publication; call this last in the transaction.

    Agents of a file or program have none: people cannot change them, and runs name their origin.
    """
    if made and not agent.origin:
        record_on(by, "agent.publish", agent, details=made.said())


@transaction.atomic
def make_current(agent: Agent) -> Publication:
    """Snapshot the agent as its current version; equal content reuses an existing version.

    For actions that publish several agents or record more than a publication: the caller writes the
    audit entry, after all its row locks.

    Raises:
        UnknownKindError: This process does not know the agent's kind.
        ConfigurationError: The agent has a tool that is not installed, or its context strategy,
            response schema, stop texts, fallback models or a tool's rule is not valid; or a skill
            does not exist, or needs a tool that the agent does not have.
    """
    locked = Agent.objects.select_for_update().get(pk=agent.pk)
    check_agent(locked)
    numbers = Agent.objects.values_list("current_version__number", flat=True)
    before = numbers.get(pk=locked.pk)
    known, spec = catalogue(locked.workspace_id), spec_of(locked)
    spec = spec.model_copy(update={"tools": expand(spec.tools, known)})
    tools = {grant.name: known[grant.name] for grant in spec.tools if grant.enabled}
    team = locked.team.order_by("name").values_list("name", "description")
    hashes = {name: definition_hash(tool) for name, tool in tools.items()}
    skills = pinned(current_versions(locked.workspace_id, locked.skills))
    content = snapshot.write(spec, hashes, team, skills)
    digest = snapshot.digest(content)
    version = AgentVersion.objects.filter(agent=locked, hash=digest).first()
    if version is None:
        definitions.store(tools.values())
        newest = AgentVersion.objects.filter(agent=locked).aggregate(newest=Max("number"))["newest"]
        version = AgentVersion.objects.create(
            agent=locked, number=(newest or 0) + 1, hash=digest, snapshot=content
        )
    if locked.current_version_id != version.pk:
        Agent.objects.filter(pk=locked.pk).update(current_version=version)
    agent.current_version = version
    return Publication(version, before)
