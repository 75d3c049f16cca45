"""Agents that have to be published again, because the definition of one of their tools changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import Agent
from tools.models import CatalogueTool

if TYPE_CHECKING:
    from tools.models import McpServer


def outdated_agents(server: McpServer) -> list[str]:
    """Return the agents whose version pins a tool of a server by another definition, by name.

    Their runs are not offered that tool. Agents of a configuration file or a program are left out:
    they are published whenever that is read.
    """
    tools = CatalogueTool.objects.filter(server=server)
    current = dict(tools.values_list("name", "definition_id"))
    rows = Agent.objects.filter(workspace=server.workspace_id, origin="").order_by("name")
    pinned = rows.values_list("name", "current_version__snapshot__tools")
    return [
        agent
        for agent, found in pinned
        if any(tool["hash"] != current.get(tool["name"], tool["hash"]) for tool in found or ())
    ]
