"""MCP servers, whose tools agents can be given."""

from __future__ import annotations

from typing import Annotated

from django.db import transaction
from pydantic import Field

from agents.reads.agents import outdated_agents
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.errors import Remedy
from heartbit_site.contract.mcp_servers import (
    McpChangesIn,
    McpServerChangeIn,
    McpServerDetailOut,
    McpServerIn,
    McpServerOut,
    McpServersOut,
    McpToolOut,
)
from heartbit_site.contract.model import USUAL, Cursor, Limit, Word
from heartbit_site.operations.paging import find_row, list_page, row_id
from tools.actions.mcp_servers import accept_mcp_change, set_mcp_server
from tools.actions.mcp_servers import remove_mcp_server as remove
from tools.actions.refresh_mcp_server import start_mcp_refresh
from tools.errors import McpServerNotFoundError
from tools.mcp.definition_text import difference
from tools.models import CatalogueTool, McpServer
from tools.models.mcp_server import McpServerQuerySet

Named = Annotated[Word, Field(description="Name or number of the server.")]


def list_mcp_servers(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> McpServersOut:
    """Return the workspace's MCP servers, by name, with the numbers of their tools."""
    return list_page(McpServersOut, _rows(access), "name", cursor, limit)


def create_mcp_server(access: Access, body: McpServerIn) -> McpServerOut:
    """Add a server; `POST /mcp-servers/{server}/refresh` reads its tools. 409 if the name is taken.

    With `openapi` or `document` it is an API: a refresh reads which `operations` can be picked.
    Only programs that an administrator has named in HEARTBIT_MCP_COMMANDS are accepted.
    """
    row = McpServer(workspace=access.workspace)
    set_mcp_server(row, body.model_dump(), by=actor_of(access))
    return McpServerOut.of(_rows(access).get(pk=row.pk))


def show_mcp_server(access: Access, server: Named) -> McpServerDetailOut:
    """Return a server with its tools, and their changes as diffs."""
    return _whole(_find(access, server))


def change_mcp_server(access: Access, server: Named, body: McpServerChangeIn) -> McpServerOut:
    """Change the given settings; the name cannot change.

    A new address, or other operations, require a refresh.
    """
    row = _find(access, server)
    set_mcp_server(row, body.model_dump(exclude_unset=True), by=actor_of(access))
    return McpServerOut.of(_rows(access).get(pk=row.pk))


def remove_mcp_server(access: Access, server: Named) -> None:
    """Delete a server with its tools; published agents are no longer offered them."""
    remove(_find(access, server), by=actor_of(access))


def refresh_mcp_server(access: Access, server: Named) -> McpServerOut:
    """Start reading a server's tools: `progress` follows, then `state` and `message`.

    New tools can be given to agents; changed ones are not called until a person accepts the change.
    An active refresh continues.
    """
    row = _find(access, server)
    start_mcp_refresh(row, by=actor_of(access))
    return McpServerOut.of(_rows(access).get(pk=row.pk))


def accept_mcp_changes(access: Access, server: Named, body: McpChangesIn) -> McpServerDetailOut:
    """Accept changes as they were shown; publish the `outdated_agents` again afterwards.

    409 if one of them has changed again: then none is accepted.
    """
    row = _find(access, server)
    with transaction.atomic():
        for name, digest in body.changes.items():
            accept_mcp_change(row, name, digest, by=actor_of(access))
    return _whole(_find(access, server))


def _rows(access: Access) -> McpServerQuerySet:
    return (
        McpServer.objects.filter(workspace=access.workspace).select_related("workspace").counted()
    )


def _find(access: Access, name: str) -> McpServer:
    rows = _rows(access)
    row = rows.filter(name=name).first()
    missing = McpServerNotFoundError(
        "The workspace has no such MCP server.", remedy=Remedy("mcp_servers.list_mcp_servers")
    )
    return row or find_row(rows.filter(pk=row_id(name)), missing)


def _whole(row: McpServer) -> McpServerDetailOut:
    tools = CatalogueTool.objects.filter(server=row).select_related("definition", "pending")
    return McpServerDetailOut.of(
        row, tools=[_tool(tool) for tool in tools], outdated_agents=outdated_agents(row)
    )


def _tool(row: CatalogueTool) -> McpToolOut:
    if row.pending is None:
        return McpToolOut.of(row, change=None)
    diff = difference(row.definition, row.pending)
    return McpToolOut.of(row, change={"hash": row.pending_id, "diff": diff})
