"""Cached rows of a team's agents, validated in one query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agents.models import Agent
from heartbit_site.base.query import fetch_one
from heartbit_site.base.toolspec import ToolSpec
from tools.definitions.registry import registry

_VERSIONS: Final = """
    SELECT ARRAY(SELECT a.current_version_id FROM agents_agent a
                 JOIN base_workspace w ON w.id = a.workspace_id
                 WHERE w.id = %s AND w.slug = %s AND a.origin = %s ORDER BY a.id)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyTeam:
    """A team's rows in a workspace, as last found.

    Attributes:
        agent: The agent that gets the task, with its workspace.
        versions: Current version of each agent, by the agents' ids.
        tools: Registry entries for the names of their tools.
    """

    agent: Agent
    versions: list[int]
    tools: Mapping[str, ToolSpec | None]

    def has_its_tools(self) -> bool:
        """Return True if the tools are unchanged."""
        return all(registry.get(name) is spec for name, spec in self.tools.items())

    def still_holds(self) -> bool:
        """Return True if the rows and the tools are unchanged."""
        if not self.has_its_tools():
            return False
        workspace = self.agent.workspace
        values = [workspace.pk, workspace.slug, self.agent.origin]
        row = fetch_one(_VERSIONS, values, prepare=True)
        return bool(row[0] == self.versions)
