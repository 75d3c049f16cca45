"""Settings of an agent, read from its rows (`Agent`, `ToolBinding`, its team)."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from agents.definitions.kinds import readable_kind
from agents.definitions.spec import GRANT_SETTINGS, DefinitionSpec, ToolGrant

if TYPE_CHECKING:
    from agents.models import Agent, ToolBinding


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
    """Return an agent's settings from its rows, without validating them again."""
    table = table_of(agent)
    tools = [ToolGrant.model_construct(**grant) for grant in table["tools"]]
    return readable_kind(agent.kind).spec.model_construct(**{**table, "tools": tools})


def _columns(row: Agent | ToolBinding, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in names}
    return {
        name: value.value if isinstance(value, Enum) else value for name, value in values.items()
    }
