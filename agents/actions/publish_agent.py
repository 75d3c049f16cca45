"""Make what an agent is now the version that its next runs are pinned to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Max

from agents.actions.check_agent_settings import check_agent
from agents.definitions import snapshot
from agents.models import Agent, AgentVersion
from agents.reads.agent_settings import spec_of
from heartbit_site.base.audit import SYSTEM, Actor, record
from tools import definitions
from tools.catalogue import catalogue
from tools.registry import definition_hash

if TYPE_CHECKING:
    from agents.definitions.spec import AgentSpec
    from heartbit_site.base.toolspec import ToolSpec


@dataclass(frozen=True, slots=True)
class Publication:
    """What publishing came to.

    Attributes:
        version: The current one now.
        before: The number of the one before; None: there was none.
    """

    version: AgentVersion
    before: int | None

    def __bool__(self) -> bool:
        """Whether another version is the current one now."""
        return self.before != self.version.number

    def said(self) -> dict[str, Any]:
        """What an entry of the audit holds of it: from which version to which, if it differs."""
        return {"version": [self.before, self.version.number]} if self else {}


@transaction.atomic
def publish_agent(agent: Agent, *, by: Actor = SYSTEM) -> AgentVersion:
    """Do it, and write it into the audit if another version is the current one now.

    Args:
        agent: Which.
        by: Who publishes it.

    Raises:
        ConfigurationError: As ``make_current``.
    """
    made = make_current(agent)
    record_publication(agent, made, by=by)
    return made.version


def record_publication(agent: Agent, made: Publication, *, by: Actor) -> None:
    """Write it into the audit, last in the transaction.

    Agents that a file or a program brought are nobody's to change: their runs say whose they are.
    """
    if made and not agent.origin:
        record(
            by,
            "agent.publish",
            workspace=agent.workspace,
            target=f"agent:{agent.pk}",
            label=agent.name,
            details=made.said(),
        )


@transaction.atomic
def make_current(agent: Agent) -> Publication:
    """Snapshot the agent; the same content gives the version that is already there.

    For verbs that publish several agents, or say more of it than that: whoever calls this writes
    into the audit, when every row is locked that will be.

    Raises:
        ConfigurationError: It is bound to a tool that is not installed, or its context strategy,
            response schema, stop texts, fallback models or a tool's rule cannot be used.
    """
    locked = Agent.objects.select_for_update().get(pk=agent.pk)
    check_agent(locked)
    numbers = Agent.objects.values_list("current_version__number", flat=True)
    before = numbers.get(pk=locked.pk)
    spec = spec_of(locked)
    tools = _granted(locked, spec)
    team = locked.team.order_by("name").values_list("name", "description")
    hashes = {name: definition_hash(tool) for name, tool in tools.items()}
    content = snapshot.write(spec, hashes, team)
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


def _granted(agent: Agent, spec: AgentSpec) -> dict[str, ToolSpec]:
    """Return the tools that its runs are offered, by name."""
    tools = catalogue(agent.workspace_id)
    return {grant.name: tools[grant.name] for grant in spec.tools if grant.enabled}
