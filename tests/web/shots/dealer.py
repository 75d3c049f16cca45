"""The MCP server of the shop's dealer, which has changed one of its tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from django.test import override_settings

from tools.actions.mcp_servers import save_mcp_server
from tools.actions.refresh_mcp_server import refresh_mcp_server
from tools.models import McpServer

if TYPE_CHECKING:
    from heartbit_site.base.audit import Actor
    from heartbit_site.base.models import Workspace

PROGRAM = (sys.executable, str(Path(__file__).with_name("parts_server.py")), "stdio")


def connect(workspace: Workspace, *, by: Actor) -> McpServer:
    """Add the server and read it twice; in between it changed."""
    server = McpServer(
        workspace=workspace, name="parts", transport=McpServer.Transport.STDIO, command="parts"
    )
    with override_settings(HEARTBIT_MCP_COMMANDS={"parts": PROGRAM}):
        save_mcp_server(server, by=by)
        refresh_mcp_server(server, by=by)
    with override_settings(HEARTBIT_MCP_COMMANDS={"parts": (*PROGRAM, "new")}):
        refresh_mcp_server(server, by=by)
    tracker = "https://mcp.tracker.example/mcp"
    save_mcp_server(
        McpServer(workspace=workspace, name="tracker", url=tracker, sign_in=True), by=by
    )
    return server
