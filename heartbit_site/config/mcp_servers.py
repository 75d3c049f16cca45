"""Import of a file's MCP servers: read what they offer, then write them with their tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from heartbit_site.base.models import Workspace
from tools.actions.mcp_servers import save_mcp_server, set_mcp_server
from tools.actions.read_mcp_server import Reading, read_mcp_server
from tools.actions.refresh_mcp_server import store_reading
from tools.models import McpServer
from tools.server_spec import READ, McpServerSpec, transport_of


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServerChanges:
    """Result of an import of MCP servers, by their names, in the file's order.

    Attributes:
        created: New servers.
        updated: Servers with changes.
        unchanged: Servers without changes.
        disabled: Servers that the file does not have; only when pruning.
    """

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()


def read_servers(workspace: Workspace, specs: Sequence[McpServerSpec]) -> dict[str, Reading]:
    """Read servers that are new, have a new address or could not be read; nothing is written.

    Returns:
        The readings by the servers' names, including servers that cannot be used.
    """
    rows = _rows(workspace)
    readings = {}
    for spec in specs:
        row = rows.get(spec.name)
        if spec.enabled and (row is None or not row.refresh_ok or _leads_elsewhere(row, spec)):
            server = McpServer(workspace=workspace, **spec.model_dump())
            server.transport = _transport(spec)
            readings[spec.name] = read_mcp_server(server)
    return readings


def write_servers(
    workspace: Workspace,
    specs: Sequence[McpServerSpec],
    readings: Mapping[str, Reading],
    *,
    prune: bool,
    by: Actor,
) -> tuple[McpServerChanges, list[str]]:
    """Create and update servers; the caller holds the workspace's row lock.

    Args:
        workspace: The workspace to change.
        specs: The servers.
        readings: Readings of some of them.
        prune: Also disable servers that are not named.
        by: Author, for the audit.

    Returns:
        The changes, and sentences about servers that cannot be used yet.

    Raises:
        ConfigurationError: A server cannot be stored.
    """
    rows = _rows(workspace)
    notes: list[str] = []
    done: dict[str, list[str]] = {"created": [], "updated": [], "unchanged": []}
    for spec in specs:
        row = rows.get(spec.name)
        done[_outcome(row, spec)].append(spec.name)
        server = row or McpServer(workspace=workspace)
        try:
            set_mcp_server(server, spec.model_dump(), by=by)
        except HeartbitError as error:
            raise ConfigurationError(f"The MCP server {spec.name!r}: {error}") from error
        if spec.name in readings:
            notes += _stored(server, readings[spec.name], by)
    gone = _disable_others(rows.values(), {spec.name for spec in specs}, by) if prune else []
    names = {list_: tuple(found) for list_, found in done.items()}
    return McpServerChanges(**names, disabled=tuple(gone)), notes


def _outcome(row: McpServer | None, spec: McpServerSpec) -> str:
    if row is None:
        return "created"
    return "updated" if _differs(row, spec) else "unchanged"


def _stored(server: McpServer, reading: Reading, by: Actor) -> Iterator[str]:
    """Store the reading of a server; yield a sentence if it cannot be used yet."""
    result = store_reading(server, reading, by=by)
    if not result.ok:
        yield f"The MCP server {server.name} has no tools yet. {result.message}"
    elif result.changed:
        yield f"The MCP server {server.name}: {result.message}"


def _disable_others(rows: Iterable[McpServer], named: set[str], by: Actor) -> list[str]:
    others = [row for row in rows if row.enabled and row.name not in named]
    for row in others:
        row.enabled = False
        save_mcp_server(row, by=by)
    return [row.name for row in others]


def provide_servers(workspace: Workspace, specs: Sequence[McpServerSpec]) -> None:
    """Check that the workspace has some servers, set up in the same way; add plain addresses.

    Tools are looked up by the workspace of a run, so a file that is only run changes no server: a
    different address under a known name would be called as if people had approved it. A server that
    is a command is not added either: it would be executed.

    Raises:
        ConfigurationError: One of them is different, cannot be added, or cannot be read.
    """
    rows = _rows(workspace) if specs else {}
    missing = [spec for spec in specs if spec.name not in rows]
    for spec in specs:
        row = rows.get(spec.name)
        is_plain = spec == McpServerSpec(name=spec.name, url=spec.url) and spec.url
        if (row is None and not is_plain) or (row is not None and _differs(row, spec)):
            fault = "is not in this workspace" if row is None else "is set up differently here"
            raise ConfigurationError(
                f"The MCP server {spec.name!r} of the file {fault}: `heartbit config import` adds "
                "the file's servers, or changes them."
            )
    readings = read_servers(workspace, missing)
    for name, reading in readings.items():
        if reading.offer is None:
            raise ConfigurationError(f"The MCP server {name} cannot be used. {reading.fault}")
    if missing:
        with transaction.atomic():
            locked = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
            write_servers(locked, missing, readings, prune=False, by=SYSTEM)


def _rows(workspace: Workspace) -> dict[str, McpServer]:
    rows = McpServer.objects.filter(workspace=workspace).select_related("workspace")
    return {row.name: row for row in rows}


def _transport(spec: McpServerSpec) -> McpServer.Transport:
    found = transport_of(command=spec.command, openapi=spec.openapi, document=spec.document)
    return McpServer.Transport(found)


def _leads_elsewhere(row: McpServer, spec: McpServerSpec) -> bool:
    return any(getattr(row, name) != getattr(spec, name) for name in READ)


def _differs(row: McpServer, spec: McpServerSpec) -> bool:
    return row.settings() != spec.model_dump()
