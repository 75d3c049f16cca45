"""Agents: by name, their settings and versions, and those to publish again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, overload
from uuid import UUID

from django.db.models import Count
from pydantic import ValidationError

from agents.definitions import snapshot
from agents.definitions.definition import AgentDefinition
from agents.definitions.kinds import KINDS, kind_in, readable_kind
from agents.definitions.server_grants import ALL
from agents.definitions.spec import GRANT_SETTINGS, DefinitionSpec, ToolGrant
from agents.definitions.unknown_agent import unknown_agent
from agents.errors import AgentNotFoundError
from agents.limits.pauses import refuse_if_halted
from agents.models import Agent, AgentVersion, Run, Skill, SkillVersion, ToolBinding
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.models import Workspace
from tools.models import CatalogueTool, McpServer


def find_agent(workspace: Workspace, name: str, *, origin: str = "") -> Agent:
    """Return the workspace's published agent with that name.

    Raises:
        AgentNotFoundError: No agent has that name, or it is stopped; the message lists those that
            exist.
        HaltedError: The workspace or the installation is stopped.
    """
    agents = Agent.objects.filter(workspace=workspace, origin=origin, current_version__isnull=False)
    row = agents.filter(name=name).first()
    if row is not None and not row.enabled:
        raise AgentNotFoundError(f"The agent {name} is stopped: `heartbit agents start {name}`.")
    refuse_if_halted(workspace)
    if row is None:
        names = list(agents.values_list("name", flat=True))
        raise unknown_agent(name, names, "this run's own team" if origin else workspace.slug)
    return row


def table_of(agent: Agent, *, disabled_tools: bool = True) -> dict[str, Any]:
    """Return the settings that an agent's rows hold, as a table of its kind's spec.

    Args:
        agent: Agent to read.
        disabled_tools: Include the tools that the agent is not offered.
    """
    bindings, kind = agent.bindings.all() if agent.pk else (), readable_kind(agent.kind)
    return {
        "name": agent.name,
        **_columns(agent, kind.columns),
        **{name: value for name, value in agent.definition.items() if name in kind.own},
        "tools": [
            grant_table_of(binding) for binding in bindings if disabled_tools or binding.enabled
        ],
        "team": sorted(member.name for member in agent.team.all()) if agent.pk else [],
    }


def grant_table_of(binding: ToolBinding) -> dict[str, Any]:
    """Return the settings that a binding's row holds, as a table of ``ToolGrant``."""
    return {"name": binding.tool, **_columns(binding, GRANT_SETTINGS)}


def spec_of(agent: Agent) -> DefinitionSpec:
    """Return an agent's settings from its rows.

    Settings that are columns are not validated again. Those that are JSON are read into their
    types; if they are no longer valid they are returned as they are stored.
    """
    table, kind = table_of(agent), readable_kind(agent.kind)
    if kind.own:
        with suppress(ValidationError):
            return kind.spec.model_validate(table)
    tools = [ToolGrant.model_construct(**grant) for grant in table["tools"]]
    return kind.spec.model_construct(**{**table, "tools": tools})


def _columns(row: Agent | ToolBinding, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in names}
    return {
        name: value.value if isinstance(value, Enum) else value for name, value in values.items()
    }


def grantable(workspace_id: int, tools: Iterable[str]) -> set[str]:
    """Return the names that grants of a workspace's agents may have.

    ``SERVER_*`` is one of them for each server, even while it has no tools: it was not read yet, or
    is disabled.

    Args:
        workspace_id: The agents' workspace.
        tools: Names of the tools in its catalogue.
    """
    servers = McpServer.objects.filter(workspace=workspace_id).values_list("name", flat=True)
    return {*tools, *(f"{name}{ALL}" for name in servers)}


def outdated_agents(server: McpServer) -> list[str]:
    """Return the agents whose version differs from the present tools of a server, by name.

    Their version pins another definition of a tool, which runs are not offered then, or lacks a
    tool although the agent has all tools of the server. Agents of a configuration file or a program
    are left out: they are published whenever their source is read.
    """
    tools = CatalogueTool.objects.filter(server=server)
    current = dict(tools.values_list("name", "definition_id"))
    offered = set(tools.filter(enabled=True, server__enabled=True).values_list("name", flat=True))
    rows = Agent.objects.filter(workspace=server.workspace_id, origin="").order_by("name")
    bindings = ToolBinding.objects.filter(agent__in=rows, tool__in=offered)
    single = set(bindings.values_list("agent", "tool"))
    grants = ToolBinding.objects.filter(agent__in=rows, tool=f"{server.name}{ALL}", enabled=True)
    given_all = set(grants.values_list("agent", flat=True))
    outdated = []
    for key, name, found in rows.values_list("pk", "name", "current_version__snapshot__tools"):
        pinned = {tool["name"]: tool["hash"] for tool in found or ()}
        expected = {tool for tool in offered if (key, tool) not in single}
        changed = any(hash_ != current.get(tool, hash_) for tool, hash_ in pinned.items())
        if changed or (key in given_all and not expected <= pinned.keys()):
            outdated.append(name)
    return outdated


def weights_of_run(run_id: UUID) -> Mapping[str, float]:
    """Return ``memory_weights`` of the version that a run is pinned to; empty: the defaults."""
    found = Run.objects.filter(pk=run_id).values_list("version__snapshot", flat=True).first()
    return _weights(found)


def weights_of_agent(workspace: Workspace, name: str) -> Mapping[str, float]:
    """Return ``memory_weights`` of an agent's current version; empty: the defaults."""
    agents = Agent.objects.filter(workspace=workspace, name=name, origin="")
    return _weights(agents.values_list("current_version__snapshot", flat=True).first())


def _weights(snapshot: Mapping[str, Any] | None) -> Mapping[str, float]:
    weights: Mapping[str, float] = (snapshot or {}).get("memory_weights", {})
    return weights


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
    """Return the definition of a version; of a workflow's, what calls of its tools read."""
    content, name = version.snapshot, version.agent.name
    if kind_in(content) == "workflow":
        snapshot.check_format(version.pk, name, content, KINDS["workflow"])
        return snapshot.read_tools(version.pk, version.agent_id, name, content)
    return snapshot.read(version.pk, version.agent_id, name, content)
