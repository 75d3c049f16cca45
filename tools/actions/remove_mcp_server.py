"""Remove an MCP server and its tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from heartbit_site.base.audit import record_on
from tools.models import McpServer

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor


@transaction.atomic
def remove_mcp_server(server: McpServer, *, by: Actor) -> None:
    """Delete a server with its tools; published agents are no longer offered them."""
    McpServer.objects.filter(pk=server.pk).delete()
    record_on(by, "mcp_server.remove", server, details={"url": server.url or server.command})
