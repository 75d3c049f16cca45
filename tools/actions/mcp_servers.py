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
from heartbit_site.base.toolspec import Label
from tools.actions.refresh_mcp_server import pending_sentence
from tools.mcp.endpoints import labels_of, stored_needs
from tools.models import CatalogueTool, McpServer
from tools.server_spec import SETTINGS, document_text, first_fault, program_fault, transport_of

_RECORDED = ("name", "transport", *SETTINGS)
_LABELS = {field.name: str(field.verbose_name) for field in McpServer._meta.fields}
_READ = (
    *("transport", "protocol", "url", "command"),
    *("openapi", "document", "operations", "effects"),
)


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
            if any(getattr(old, x) != getattr(server, x) for x in _READ):
                server.needs_refresh = True
                written.append("needs_refresh")
            server.save(update_fields=written)
            _label_tools(server)
        changes = audit.changes(old, server, _RECORDED)
        if changes or before is None:
            action = f"mcp_server.{'add' if before is None else 'change'}"
            audit.record_on(by, action, server, details=changes)


def _label_tools(server: McpServer) -> None:
    """Let the tools follow what a person says of their server; the next refresh knows more."""
    rows = list(CatalogueTool.objects.filter(server=server).only("labels", "credentials"))
    for row in rows:
        row.labels = sorted(labels_of(server, is_closed=Label.OUTBOUND not in row.labels))
        row.credentials = stored_needs(server)
    CatalogueTool.objects.bulk_update(rows, ["labels", "credentials"], batch_size=100)


def set_mcp_server(server: McpServer, settings: Mapping[str, Any], *, by: Actor) -> None:
    """Change some settings of a server, by the names of ``McpServerSpec``, and save it.

    A URL replaces a program, and a program a URL; the address of an OpenAPI document replaces its
    text, and the text the address. A URL beside a document is where the API is.

    Raises:
        ConfigurationError: As for ``save_mcp_server``; or both are given.
        ConflictError: As for ``save_mcp_server``.
    """
    for name, value in settings.items():
        setattr(server, name, value)
    given = {name for name in ("command", "url", "openapi", "document") if settings.get(name)}
    if "command" in given and len(given) > 1:
        other = max(given - {"command"})
        _refuse("command", f"is given together with {other}: keep one of them")
    if "command" in given:
        server.url = server.openapi = server.document = ""
    elif given:
        server.command = ""
    if "document" in given and "openapi" not in given:
        server.openapi = ""
    if "openapi" in given and "document" not in given:
        server.document = ""
    if given:
        places = {"openapi": server.openapi, "document": server.document}
        server.transport = transport_of(command=server.command, **places)
    save_mcp_server(server, by=by)


def _check(server: McpServer) -> None:
    server.name = server.name.strip()
    server.url, server.command = server.url.strip(), server.command.strip()
    server.openapi = server.openapi.strip()
    if server.transport == McpServer.Transport.STDIO:
        server.url = ""
    else:
        server.command = ""
    if server.transport == McpServer.Transport.OPENAPI:
        if not server.openapi and not server.document:
            _refuse("openapi", "is missing: name its address, or give its text")
        try:
            server.document = document_text(server.document)
        except ValueError as error:
            _refuse("document", str(error))
    else:
        server.openapi = server.document = server.idempotency_header = ""
        server.operations, server.effects = [], {}
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
