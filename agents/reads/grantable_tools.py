"""The names that an agent's grants may have: of tools, and of all tools of an MCP server."""

from __future__ import annotations

from collections.abc import Iterable

from agents.definitions.server_grants import ALL
from tools.models import McpServer


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
