"""Write agents' rows: every agent, then tools and teams, then a version of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from agents.actions.check_agent import (
    check_credentials_of_skills,
    check_grant,
    check_groups,
    check_reviewers,
)
from agents.actions.publish_agent import Led, Publication, make_current
from agents.definitions.definition import BLACKBOARD
from agents.definitions.kinds import kind_of
from agents.definitions.spec import GRANT_SETTINGS, AgentSpec, DefinitionSpec, ToolGrant
from agents.definitions.validation_messages import InvalidSettingError
from agents.models import Agent, ToolBinding
from heartbit_site.base import audit
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import Workspace


@dataclass(slots=True)
class Written:
    """Result of writing one agent.

    Attributes:
        row: The agent.
        is_new: True if it was created.
        changes: Changes of an existing agent, in the audit's form; empty: none.
        made: Its publication; None: not published yet.
        led: Its orchestrators, published again because it changed.
    """

    row: Agent
    is_new: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    made: Publication | None = None
    led: list[Led] = field(default_factory=list)

    def record(self, by: Actor, **details: Any) -> None:
        """Write an audit entry if anything changed; call this last in the transaction."""
        if self.is_new or self.changes or self.made:
            version = self.made.said() if self.made is not None else {}
            action = "agent.add" if self.is_new else "agent.change"
            audit.record_on(by, action, self.row, details={**self.changes, **version, **details})


def write_agents(
    workspace: Workspace,
    agents: Sequence[DefinitionSpec],
    *,
    origin: str,
    author: str = SYSTEM.name,
) -> dict[str, Written]:
    """Create or update agents; the caller holds the workspace's row lock.

    Args:
        workspace: The agents' workspace.
        agents: Their settings, of any kinds; their teams are among them, or exist already.
        origin: As in ``Agent``.
        author: Display name of the author of new versions.

    Returns:
        The result for each agent, by its name.

    Raises:
        InvalidSettingError: A tool cannot be given like this, or an agent is of another kind.
        ConfigurationError: An agent cannot be published.
    """
    names = {spec.name for spec in agents}.union(*(spec.team for spec in agents))
    found = Agent.objects.filter(workspace=workspace, origin=origin, name__in=names)
    rows = {row.name: row for row in found.select_for_update()}
    written = {}
    for spec in agents:
        row = rows.get(spec.name)
        if row is None:
            rows[spec.name] = made = create_row(workspace, spec, origin)
            written[spec.name] = Written(made, is_new=True)
        else:
            check_kind(row, spec)
            written[spec.name] = Written(row, changes=update(row, columns_of(spec)))
    for spec in agents:
        one = written[spec.name]
        changes = bind(one.row, spec.tools)
        changes |= assemble(one.row, [rows[member] for member in spec.team])
        if one.is_new or "skills" in one.changes:
            check_credentials_of_skills(one.row, spec.tools)
        one.changes |= {} if one.is_new else changes
    for name in _members_first({spec.name: spec.team for spec in agents}):
        written[name].made = make_current(written[name].row, author=author)
    return written


def _members_first(teams: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the agents in an order in which each follows its team, whose versions it may pin."""
    ordered, entered, pending = dict[str, None](), set[str](), list(teams)
    while pending:
        name = pending[-1]
        before = [] if name in entered else [one for one in teams[name] if one in teams]
        entered.add(name)
        if before := [one for one in before if one not in entered]:
            pending += before
        else:
            ordered[pending.pop()] = None
    return list(ordered)


def check_kind(row: Agent, spec: DefinitionSpec) -> None:
    """Check that settings are of the kind that an agent has.

    Raises:
        InvalidSettingError: The settings are of another kind.
    """
    if (kind := kind_of(spec).name) != row.kind:
        message = (
            f"is {row.name}, which is of the kind {row.kind}, not {kind}: take another name, or "
            f"give settings of a {row.kind}"
        )
        raise InvalidSettingError(("name",), message)


def columns_of(spec: DefinitionSpec) -> dict[str, Any]:
    """Return the values of an agent's columns, by name."""
    kind = kind_of(spec)
    own = spec.model_dump(mode="json", include=kind.own)
    return {**{name: getattr(spec, name) for name in kind.columns}, "definition": own}


def create_row(workspace: Workspace, spec: DefinitionSpec, origin: str) -> Agent:
    """Write the row of a new agent, without tools, team and version."""
    columns = {"kind": kind_of(spec).name, "name": spec.name, **columns_of(spec)}
    check_groups(columns["definition"], {})
    check_reviewers(workspace, columns["review"])
    return Agent.objects.create(workspace=workspace, origin=origin, **columns)


def update(row: Agent, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Set these columns of the agent; return the changes in the audit's form.

    Raises:
        InvalidSettingError: A group that a workflow newly asks does not exist.
    """
    check_groups(columns.get("definition", {}), row.definition)
    if columns.get("review", row.review) != row.review:
        check_reviewers(row.workspace, columns["review"])
    changes = _set(row, columns)
    written = list(changes)
    if not written:
        return {}
    if "enabled" in changes and row.enabled:
        row.enabled_at = timezone.now()
        written.append("enabled_at")
    row.save(update_fields=[*written, "updated_at"])
    return changes


def bind(row: Agent, tools: Sequence[ToolGrant]) -> dict[str, Any]:
    """Give the agent exactly these tools; return the changes in the audit's form.

    Raises:
        InvalidSettingError: A tool that is new, or set up differently, cannot be given like this.
    """
    bindings = {binding.tool: binding for binding in row.bindings.all()}
    surplus = sorted(set(bindings) - {tool.name for tool in tools})
    row.bindings.filter(tool__in=surplus).delete()
    added, changed = [], []
    for index, tool in sorted(enumerate(tools), key=lambda one: one[1].name):
        columns = {name: getattr(tool, name) for name in GRANT_SETTINGS}
        binding = bindings.get(tool.name)
        given = columns if binding is None else _differing(binding, columns)
        check_grant({"name": tool.name} | {name: columns[name] for name in given}, ("tools", index))
        if binding is None:
            ToolBinding.objects.create(agent=row, tool=tool.name, **columns)
            added.append(tool.name)
        elif changes := _set(binding, columns):
            binding.save(update_fields=list(changes))
            changed.append({"row": tool.name, "fields": list(changes)})
    found = {"added": added, "changed": changed, "removed": surplus}
    said = {name: tools for name, tools in found.items() if tools}
    return {"tool bindings": said} if said else {}


def assemble(row: Agent, members: list[Agent]) -> dict[str, Any]:
    """Set the agent's team; return the changes in the audit's form."""
    former = sorted(row.team.values_list("name", flat=True))
    wanted = sorted(member.name for member in members)
    if former == wanted:
        return {}
    row.team.set(members)
    return {"team": audit.changed(", ".join(former), ", ".join(wanted))}


def _set(row: Agent | ToolBinding, columns: Mapping[str, Any]) -> dict[str, Any]:
    changes = {}
    for name in _differing(row, columns):
        changes[name] = audit.changed(getattr(row, name), columns[name])
        setattr(row, name, columns[name])
    return changes


def _differing(row: Agent | ToolBinding, columns: Mapping[str, Any]) -> list[str]:
    return [name for name, value in columns.items() if not _same(getattr(row, name), value)]


def _same(one: object, other: object) -> bool:
    """Return True if equal as JSON: Python finds True equal to 1, and jsonb forgets key order."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


ORCHESTRATOR = "orchestrator"
#: Long enough for a team on the built-in model on a busy machine.
DELEGATION_SECONDS = 600


def _granted(*tools: str) -> list[ToolGrant]:
    return [ToolGrant(name=tool) for tool in (*BLACKBOARD, *tools)]


MEMBERS = (
    AgentSpec(
        name="researcher",
        description="Finds and states the facts a question turns on.",
        system_prompt=(
            "You are a researcher. State the facts that matter to the task, in short sentences. "
            "Say what you are not sure of."
        ),
        tools=_granted("current_time", "http_get"),
    ),
    AgentSpec(
        name="analyst",
        description="Weighs facts: causes, effects, numbers, trade-offs.",
        system_prompt=(
            "You are an analyst. Explain causes and effects, weigh the arguments, and do the sums. "
            "Be brief and concrete."
        ),
        tools=_granted("calculate", "current_time"),
    ),
    AgentSpec(
        name="writer",
        description="Turns material into clear, readable prose.",
        system_prompt=(
            "You are a writer. Write clear, plain prose for a general reader. No headings, no "
            "lists, unless you are asked for them."
        ),
        tools=_granted(),
    ),
)
PROMPT = (
    "You lead a small team. Split the user's question into one task for each team member who can "
    "help, delegate all of them in one call, and then answer the user yourself in one clear "
    "paragraph made from their results."
)


@transaction.atomic
def create_default_team(workspace: Workspace) -> Agent | None:
    """Create and publish the team, unless the workspace has any agent; return the orchestrator.

    Part of an installation's set-up, so nothing is written to the audit.
    """
    Workspace.objects.select_for_update().get(pk=workspace.pk)
    if Agent.objects.filter(workspace=workspace).exists():
        return None
    orchestrator = AgentSpec(
        name=ORCHESTRATOR,
        description="Answers a question with the help of its team.",
        system_prompt=PROMPT,
        team=[member.name for member in MEMBERS],
        delegation_timeout_seconds=DELEGATION_SECONDS,
    )
    return write_agents(workspace, [*MEMBERS, orchestrator], origin="")[ORCHESTRATOR].row
