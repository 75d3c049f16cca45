"""Write agents' rows: every agent, then tools and teams, then a version of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.utils import timezone

from agents.actions.publish_agent import publish_agent
from agents.models import Agent, ToolBinding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.base.models import Workspace
    from heartbit_site.config.definition import AgentSetting, Configuration, ToolSetting

_BINDING = (
    *("enabled", "approval", "approval_when", "defaults"),
    *("approval_seconds", "approvals", "approvers"),
)


def write(workspace: Workspace, configuration: Configuration, *, origin: str) -> dict[str, str]:
    """Make the rows what the configuration says; the caller holds the workspace's row lock.

    Returns:
        ``created``, ``updated`` or ``unchanged`` by the agent's name.

    Raises:
        ConfigurationError: An agent cannot be published.
    """
    rows = {
        row.name: row
        for row in Agent.objects.filter(workspace=workspace, origin=origin).select_for_update()
    }
    outcome = {}
    for setting in configuration.agents:
        row = rows.get(setting.name)
        outcome[setting.name] = "created" if row is None else "unchanged"
        if row is None:
            rows[setting.name] = _create(workspace, setting, origin)
        elif _update(row, setting):
            outcome[setting.name] = "updated"
    for setting in configuration.agents:
        row = rows[setting.name]
        changed = _bind(row, setting.tools)
        changed |= _assemble(row, [rows[member] for member in setting.team])
        if changed and outcome[setting.name] == "unchanged":
            outcome[setting.name] = "updated"
    for setting in configuration.agents:
        publish_agent(rows[setting.name])
    return outcome


def _create(workspace: Workspace, setting: AgentSetting, origin: str) -> Agent:
    return Agent.objects.create(
        workspace=workspace, origin=origin, name=setting.name, **setting.columns
    )


def _update(row: Agent, setting: AgentSetting) -> bool:
    changed = _differing(row, setting.columns)
    for name in changed:
        setattr(row, name, setting.columns[name])
    if not changed:
        return False
    if "enabled" in changed and row.enabled:
        row.enabled_at = timezone.now()
        changed.append("enabled_at")
    row.save(update_fields=[*changed, "updated_at"])
    return True


def _bind(row: Agent, tools: tuple[ToolSetting, ...]) -> bool:
    """Give the agent these tools and no others."""
    bindings = {binding.tool: binding for binding in row.bindings.all()}
    surplus = set(bindings) - {tool.tool for tool in tools}
    row.bindings.filter(tool__in=surplus).delete()
    changed = bool(surplus)
    for tool in tools:
        columns = {name: getattr(tool, name) for name in _BINDING}
        binding = bindings.get(tool.tool)
        if binding is None:
            ToolBinding.objects.create(agent=row, tool=tool.tool, **columns)
            changed = True
        elif differing := _differing(binding, columns):
            for name in differing:
                setattr(binding, name, columns[name])
            binding.save(update_fields=differing)
            changed = True
    return changed


def _assemble(row: Agent, members: list[Agent]) -> bool:
    wanted = {member.pk for member in members}
    if set(row.team.values_list("pk", flat=True)) == wanted:
        return False
    row.team.set(members)
    return True


def _differing(row: Agent | ToolBinding, columns: Mapping[str, Any]) -> list[str]:
    return [name for name, value in columns.items() if not _same(getattr(row, name), value)]


def _same(one: object, other: object) -> bool:
    """Equal as JSON: Python finds True equal to 1, and jsonb forgets the order of keys."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)
