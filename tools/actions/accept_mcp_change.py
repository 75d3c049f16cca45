"""Accept what an MCP server changed about a tool."""

from __future__ import annotations

from django.db import transaction

from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.rights import require
from tools.actions.refresh_mcp_server import pending_sentence
from tools.models import CatalogueTool, McpServer


@transaction.atomic
def accept_mcp_change(server: McpServer, name: str, digest: str, *, by: Actor) -> None:
    """Accept the current definition of a server's tool.

    Agents with the tool are offered it again once they are republished.

    Args:
        server: The server.
        name: Name of its tool.
        digest: Hash of the definition that the person has seen.
        by: The person.

    Raises:
        ConflictError: The tool has changed again, or has no change to accept.
    """
    require(by, "workspace:manage", workspace_id=server.workspace_id)
    locked = McpServer.objects.select_for_update().get(pk=server.pk)
    waiting = CatalogueTool.objects.filter(server=server, pending__isnull=False)
    before = pending_sentence(waiting.values_list("name", flat=True))
    row = CatalogueTool.objects.select_for_update().filter(server=server, name=name).first()
    if row is None or row.pending_id != digest:
        raise ConflictError(f"{name} has changed again: review the new change.")
    details = {"tool": name, "definition": [row.definition_id[:12], digest[:12]]}
    row.definition_id, row.pending_id = digest, None
    row.save(update_fields=["definition", "pending"])
    after = pending_sentence(waiting.all().values_list("name", flat=True))
    server.refresh_message = locked.refresh_message.replace(before, after)
    server.save(update_fields=["refresh_message"])
    record_on(by, "mcp_server.accept", server, details=details)
