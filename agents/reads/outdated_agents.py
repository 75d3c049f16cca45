"""Agents to publish again, because the tools of one of their MCP servers are others by now."""

from __future__ import annotations

from agents.definitions.server_grants import ALL
from agents.models import Agent, ToolBinding
from tools.models import CatalogueTool, McpServer


def outdated_agents(server: McpServer) -> list[str]:
    """Return the agents whose version does not have the tools of a server as they are, by name.

    Their runs are not offered a tool that the version pins by another definition, or does not pin
    yet, if the agent has all tools of the server. Agents of a configuration file or a program are
    left out: they are published whenever that is read.
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
