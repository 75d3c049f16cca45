"""Remove an MCP server and its tools."""

from __future__ import annotations

from django.db import transaction

from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.rights import require
from tools.models import McpServer


@transaction.atomic
def remove_mcp_server(server: McpServer, *, by: Actor) -> None:
    """Delete a server with its tools; published agents are not offered them any more."""
    require(by, "workspace:manage", workspace_id=server.workspace_id)
    McpServer.objects.filter(pk=server.pk).delete()
    record_on(by, "mcp_server.remove", server, details={"url": server.url or server.command})
