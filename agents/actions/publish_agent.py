"""Publish agents: store their current settings as the version of new runs.

A model is offered exactly what was published. An installation's own tools and the shipped skills
change when its operator upgrades it, and the upgrade is the approval: agents with changed ones are
published again at the next start. (Tools of remote servers need a person.)
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max

from agents.actions.check_agent import check_agent
from agents.choices import RunKind
from agents.definitions import snapshot
from agents.definitions.kinds import readable_kind
from agents.definitions.server_grants import expand
from agents.models import Agent, AgentVersion
from agents.reads.agents import spec_of
from agents.reads.skills import current_versions, pinned, skills_in
from heartbit_site.base.audit import SYSTEM, Actor, record_on
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.rights import require
from tools.definitions import catalogue as definitions
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash

logger = logging.getLogger(__name__)


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
    made = make_current(agent, author=by.name)
    record_publication(agent, made, by=by)
    return made.version


def record_publication(agent: Agent, made: Publication, *, by: Actor) -> None:
    """Write the audit entry of a publication; call this last in the transaction.

    Agents of a file or program have none: people cannot change them, and runs name their origin.
    """
    if made and not agent.origin:
        record_on(by, "agent.publish", agent, details=made.said())


@transaction.atomic
def make_current(agent: Agent, *, author: str = SYSTEM.name, note: str = "") -> Publication:
    """Snapshot the agent as its current version; equal content reuses an existing version.

    For actions that publish several agents or record more than a publication: the caller writes the
    audit entry, after all its row locks.

    Args:
        agent: The agent.
        author: Display name of the author of a new version.
        note: What the author says of a new version.

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
    hashes = {name: definition_hash(tool) for name, tool in tools.items()}
    skills = pinned(current_versions(locked.workspace_id, locked.skills))
    content = snapshot.write(spec, hashes, _team_of(locked), skills)
    digest = snapshot.digest(content)
    version = AgentVersion.objects.filter(agent=locked, hash=digest).first()
    if version is None:
        definitions.store(tools.values())
        newest = AgentVersion.objects.filter(agent=locked).aggregate(newest=Max("number"))["newest"]
        version = AgentVersion.objects.create(
            agent=locked,
            number=(newest or 0) + 1,
            hash=digest,
            snapshot=content,
            note=note,
            published_by=author[:200],
        )
    if locked.current_version_id != version.pk:
        Agent.objects.filter(pk=locked.pk).update(current_version=version)
    agent.current_version = version
    return Publication(version, before)


def _team_of(agent: Agent) -> Iterator[dict[str, Any]]:
    """Yield each member of an agent's team, as snapshots contain it.

    An agent pins its workflows, which are tools of it, with their input; a workflow pins every
    member. A member that leads back to the agent has no hash: it would pin what pins it.
    """
    above, pending = {agent.pk}, {agent.pk}
    while pending:
        leaders = Agent.objects.filter(team__in=pending).values_list("pk", flat=True)
        pending = set(leaders) - above
        above |= pending
    members = agent.team.order_by("name")
    pins_team = readable_kind(agent.kind).pins_team
    columns = ("pk", "kind", "name", "description")
    of_version = ("current_version__hash", "current_version__snapshot__input")
    for pk, kind, name, text, version, schema in members.values_list(*columns, *of_version):
        member = {"name": name, "description": text}
        is_tool = kind == RunKind.WORKFLOW and not pins_team
        if is_tool or pins_team:
            member["version"] = "" if pk in above else version or ""
        if is_tool and schema is not None:
            member["input"] = schema
        yield member


@dataclass(frozen=True, slots=True)
class Led:
    """Result of publishing one agent again.

    Attributes:
        agent: The agent.
        made: The publication; None: the agent could not be published.
        problem: Why not, as a sentence.
    """

    agent: Agent
    made: Publication | None = None
    problem: str = ""


@transaction.atomic
def publish_leaders(members: Collection[Agent], *, by: Actor) -> list[Led]:
    """Publish the orchestrators and workflows of these agents, and again theirs, once each.

    One that cannot be published keeps its version, without an error.
    """
    led: list[Led] = []
    done = {member.pk for member in members}
    while members:
        leaders = Agent.objects.filter(team__in=members).exclude(pk__in=done)
        again = publish_again(leaders.distinct().order_by("name"), by=by)
        done |= {one.agent.pk for one in again}
        members = [one.agent for one in again if one.made]
        led += again
    return led


@transaction.atomic
def publish_again(agents: Iterable[Agent], *, by: Actor) -> list[Led]:
    """Publish agents because something changed that their versions pin.

    An agent that cannot be published keeps its version, without an error.
    """
    led = [_publish(agent, by.name) for agent in agents]
    for one in led:  # the audit's chain is locked last, after every row
        if one.made is not None:
            record_publication(one.agent, one.made, by=by)
    return led


def _publish(leader: Agent, author: str) -> Led:
    try:
        return Led(
            leader, make_current(leader, author=author)
        )  # atomic: a refusal rolls back only this one
    except ConfigurationError as error:
        return Led(leader, problem=str(error))


def republish_agents() -> list[str]:
    """Publish every agent whose tools or skills changed; return the names of those published."""
    names = []
    for agent in Agent.objects.filter(pk__in={*_with_changed_tools(), *_with_changed_skills()}):
        try:
            publish_agent(agent, by=SYSTEM)
        except ConfigurationError as error:
            logger.warning("not published again: %s", error)
        else:
            names.append(agent.name)
    return names


def _with_changed_tools() -> Iterator[int]:
    installed = {name: definition_hash(spec) for name, spec in catalogue(None).items()}
    published = Agent.objects.filter(current_version__isnull=False)
    for pk, origin, tools in published.values_list(
        "pk", "origin", "current_version__snapshot__tools"
    ):
        # Others are tools of a workspace's MCP servers, whose changes a person takes over.
        own = [tool for tool in tools if tool["name"] in installed]
        changed = any(installed[tool["name"]] != tool["hash"] for tool in own)
        # A program's own tools are known only in its own process, which publishes its agents.
        if changed and not (origin and len(own) < len(tools)):
            yield pk


def _with_changed_skills() -> Iterator[int]:
    rows = Agent.objects.filter(current_version__snapshot__has_key="skills")
    columns = ("pk", "workspace_id", "current_version__snapshot__skills")
    current: dict[int, dict[str, str]] = {}
    for pk, workspace_id, skills in rows.values_list(*columns):
        if workspace_id not in current:
            known = skills_in(workspace_id).values_list("name", "current_version__hash")
            current[workspace_id] = dict(known)
        if any(current[workspace_id].get(skill["name"]) != skill["hash"] for skill in skills):
            yield pk
