"""Save, remove and accept changes of MCP servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from django.conf import settings
from django.db import transaction

from heartbit_site.base import audit
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConfigurationError, ConflictError, about
from heartbit_site.base.rights import require
from tools.actions.refresh_mcp_server import pending_sentence
from tools.mcp.endpoints import labels_of
from tools.models import CatalogueTool, McpServer
from tools.server_spec import SETTINGS, first_fault, program_fault

_RECORDED = ("name", "transport", *SETTINGS)
_LABELS = {field.name: str(field.verbose_name) for field in McpServer._meta.fields}
_ADDRESS = ("transport", "protocol", "url", "command")


def save_mcp_server(server: McpServer, *, by: Actor) -> None:
    """Write a server's row. Nothing is connected or started; ``refresh_mcp_server`` does that.

    Raises:
        ConfigurationError: A field is missing or not valid; or the address changed although its
        tools were accepted from another server.
        ConflictError: The workspace has another server of that name.
    """
    require(by, "workspace:manage", workspace_id=server.workspace_id)
    _check(server)
    with transaction.atomic():
        before = McpServer.objects.select_for_update().filter(pk=server.pk).first()
        with about("name"):
            if before is not None and before.name != server.name:
                raise ConfigurationError(
                    "An MCP server's name cannot change, because its tools' names begin with it; "
                    "add a new server."
                )
            others = McpServer.objects.filter(workspace=server.workspace_id, name=server.name)
            if others.exclude(pk=server.pk).exists():
                raise ConflictError(
                    f"Another MCP server has the name {server.name!r}: choose another name."
                )
        old = before if before is not None else McpServer()
        if before is None:
            server.save()
        else:  # a refresh may be writing its own columns
            written = [*_RECORDED, "updated_at"]
            if any(getattr(old, x) != getattr(server, x) for x in _ADDRESS):
                server.needs_refresh = True
                written.append("needs_refresh")
            server.save(update_fields=written)
            labels = sorted(labels_of(private_data=server.private_data))
            CatalogueTool.objects.filter(server=server).update(labels=labels)
        changes = audit.changes(old, server, _RECORDED)
        if changes or before is None:
            action = f"mcp_server.{'add' if before is None else 'change'}"
            audit.record_on(by, action, server, details=changes)


def set_mcp_server(server: McpServer, settings: Mapping[str, Any], *, by: Actor) -> None:
    """Change some settings of a server, by the names of ``McpServerSpec``, and save it.

    A URL replaces a program, and a program a URL.

    Raises:
        ConfigurationError: As for ``save_mcp_server``; or both are given.
        ConflictError: As for ``save_mcp_server``.
    """
    for name, value in settings.items():
        setattr(server, name, value)
    if settings.get("url") and settings.get("command"):
        _refuse("command", "is given together with url: keep one of them")
    if settings.get("command"):
        server.transport, server.url = McpServer.Transport.STDIO, ""
    elif settings.get("url"):
        server.transport, server.command = McpServer.Transport.HTTP, ""
    save_mcp_server(server, by=by)


def _check(server: McpServer) -> None:
    server.name = server.name.strip()
    server.url, server.command = server.url.strip(), server.command.strip()
    if server.transport == McpServer.Transport.STDIO:
        server.url = ""
    else:
        server.command = ""
    fault = first_fault(server.settings())
    unknown = program_fault(server.command, settings.HEARTBIT_MCP_COMMANDS)
    if unknown and server.enabled:  # a server whose program is gone can still be disabled
        fault = fault or ("command", unknown)
    if fault is not None:
        name, message = fault
        if message.startswith("is missing"):  # of both; the transport says which one it takes
            is_program = server.transport == McpServer.Transport.STDIO
            name, message = "command" if is_program else "url", "is missing"
        _refuse(name, message)


def _refuse(name: str, message: str) -> NoReturn:
    with about(name):
        raise ConfigurationError(f"The {_LABELS[name]} {message.removesuffix('.')}.")


@transaction.atomic
def remove_mcp_server(server: McpServer, *, by: Actor) -> None:
    """Delete a server with its tools; published agents are no longer offered them."""
    require(by, "workspace:manage", workspace_id=server.workspace_id)
    McpServer.objects.filter(pk=server.pk).delete()
    record_on(by, "mcp_server.remove", server, details={"url": server.url or server.command})


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
