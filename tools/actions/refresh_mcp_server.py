"""Refresh an MCP server: read its tools, and hold changes until a person accepts them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from django.db import connections, transaction
from django.db.models import Q
from django.utils import timezone

from heartbit_site.base import amounts
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.rights import require
from heartbit_site.base.toolspec import Origin, ToolSpec
from heartbit_site.base.visible_text import visible
from tools.actions.read_mcp_server import Reading, read_mcp_server
from tools.definitions import catalogue as definitions
from tools.definitions.registry import definition_hash, registry
from tools.mcp.endpoints import labels_of, stored_needs
from tools.mcp.listing import Offer, definition, effect_of, local_names, only_reads_its_own
from tools.models import CatalogueTool, McpServer

if TYPE_CHECKING:
    import mcp_types

_SHOWN_REASONS = 10
_MOST_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Refresh:
    """Result of a refresh.

    Attributes:
        ok: True if the server could be read.
        message: The result as a sentence, or several.
        added: Names of new tools; likewise ``changed`` (they wait for acceptance) and ``removed``.
    """

    ok: bool
    message: str
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    def names(self) -> dict[str, list[str]]:
        """Return the names of added, changed and removed tools, for an audit entry."""
        groups = {"added": self.added, "changed": self.changed, "removed": self.removed}
        return {group: list(names) for group, names in groups.items() if names}


def refresh_mcp_server(server: McpServer, *, by: Actor) -> Refresh:
    """Read a server's tools and store them in its workspace.

    A new tool can be given to agents at once. A changed tool keeps its accepted definition, and is
    not called until a person accepts the change. The server's row has the progress.

    Returns:
        The result, stored with the server even if the server cannot be used.
    """
    require(by, "workspace:manage", workspace_id=server.workspace_id)
    _beat(server, "Connecting.")
    try:
        reading = read_mcp_server(server, user_id=by.user_id, beat=partial(_beat, server))
        return store_reading(server, reading, by=by)
    finally:
        _beat(server, None)


def store_reading(server: McpServer, reading: Reading, *, by: Actor) -> Refresh:
    """Store the result of reading a server: its tools, or why it cannot be used."""
    require(by, "workspace:manage", workspace_id=server.workspace_id)
    if reading.offer is None:
        result = Refresh(ok=False, message=visible(reading.fault))
        with transaction.atomic():
            _store(server, result, Reading())
            record_on(by, "mcp_server.refresh", server, details={"error": result.message})
        return result
    with transaction.atomic():
        McpServer.objects.select_for_update().get(pk=server.pk)
        result = _written(server, reading.offer)
        _store(server, result, reading)
        record_on(by, "mcp_server.refresh", server, details=result.names())
    return result


def pending_sentence(names: Collection[str]) -> str:
    """Return the part of a refresh's message that names the changes to accept; empty: none."""
    if not names:
        return ""
    return f" Changed, and not called until a person accepts: {', '.join(sorted(names))}."


def _beat(server: McpServer, progress: str | None) -> None:
    """Store a heartbeat with the progress; None: the refresh has ended."""
    now = None if progress is None else timezone.now()
    rows = McpServer.objects.filter(pk=server.pk)
    rows.update(refresh_beat_at=now, refresh_progress=visible(progress or "")[:_MOST_CHARACTERS])


def _written(server: McpServer, offer: Offer) -> Refresh:
    rows = {row.remote_name: row for row in CatalogueTool.objects.filter(server=server)}
    specs = _specs(server, offer, known={remote: row.name for remote, row in rows.items()})
    definitions.store(specs.values())
    added, changed = [], []
    for remote, spec in specs.items():
        digest = definition_hash(spec)
        row = rows.get(remote)
        if row is None:
            _add(server, offer.tools[remote], spec, digest)
            added.append(spec.name)
            continue
        pending = None if row.definition_id == digest else digest
        labels = _labels(server, offer.tools[remote])
        if (pending, labels) != (row.pending_id, row.labels):
            CatalogueTool.objects.filter(pk=row.pk).update(pending=pending, labels=labels)
        if pending is not None:
            changed.append(row.name)
    gone = [row for remote, row in rows.items() if remote not in specs]
    CatalogueTool.objects.filter(pk__in=[row.pk for row in gone]).delete()
    removed = tuple(sorted(row.name for row in gone))
    message = f"It has {amounts.counted(len(specs), 'tool')}."
    if offer.operations:
        picked = f"{len(specs)} of {amounts.counted(len(offer.operations), 'operation')}"
        message = f"{picked} {'is a tool' if len(specs) == 1 else 'are tools'}."
    message += pending_sentence(changed)
    if removed:
        message += f" Gone: {', '.join(removed)}."
    for remote, why in islice(offer.left_out.items(), _SHOWN_REASONS):
        message += f" Left out: {remote}, because {why.rstrip('.')}."
    if len(offer.left_out) > _SHOWN_REASONS:
        message += f" In total {len(offer.left_out)} are left out."
    return Refresh(
        ok=True,
        message=visible(message),
        added=tuple(added),
        changed=tuple(changed),
        removed=removed,
    )


def _specs(server: McpServer, offer: Offer, *, known: Mapping[str, str]) -> dict[str, ToolSpec]:
    """Return the definitions of a server's tools, by the server's names."""
    others = CatalogueTool.objects.filter(Q(workspace=None) | Q(workspace=server.workspace_id))
    taken = {*registry, *others.exclude(server=server).values_list("name", flat=True)}
    is_api = server.transport == McpServer.Transport.OPENAPI
    names = local_names(
        server.name, tuple(offer.tools), known=known, taken=taken, splits_words=is_api
    )
    # The effects of an API's operations come from their methods and from people.
    trusted = server.trusted or is_api or server.protocol == McpServer.Protocol.A2A
    return {
        remote: definition(
            offer.tools[remote],
            name=name,
            effect=effect_of(offer.tools[remote], trusted=trusted),
            request=offer.requests.get(remote),
        )
        for remote, name in names.items()
    }


def _labels(server: McpServer, tool: mcp_types.Tool) -> list[str]:
    return sorted(labels_of(server, is_closed=only_reads_its_own(tool)))


def _add(server: McpServer, tool: mcp_types.Tool, spec: ToolSpec, digest: str) -> None:
    CatalogueTool.objects.create(
        workspace_id=server.workspace_id,
        server=server,
        remote_name=tool.name,
        name=spec.name,
        definition_id=digest,
        origin=Origin.MCP,
        source=server.name,
        credentials=stored_needs(server),
        labels=_labels(server, tool),
    )


def _store(server: McpServer, result: Refresh, reading: Reading) -> None:
    server.refreshed_at = timezone.now()
    server.refresh_ok, server.refresh_message = result.ok, result.message
    written = ["refreshed_at", "refresh_ok", "refresh_message"]
    if reading.offer is not None:
        server.facts = {name: visible(text) for name, text in reading.facts.items()}
        server.needs_refresh, server.offered = False, reading.offer.operations
        written += ["facts", "needs_refresh", "offered"]
    server.save(update_fields=written)


logger = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 8
_free = threading.BoundedSemaphore(MOST_AT_ONCE)


def start_mcp_refresh(server: McpServer, *, by: Actor) -> None:
    """Start refreshing a server and return; its row has the progress, and then the result.

    An active refresh continues. One whose process ends is shown as interrupted: the thread belongs
    to this process, so that adding a server needs no worker.

    Raises:
        ConflictError: This process has reached its limit of concurrent refreshes.
    """
    require(by, "workspace:manage", workspace_id=server.workspace_id)
    if not _free.acquire(blocking=False):
        raise ConflictError(
            f"{MOST_AT_ONCE} MCP servers are being refreshed by this process: wait until one of "
            f"them is done."
        )
    try:
        is_free = _claim(server)
        if is_free:
            threading.Thread(
                target=_refresh, args=(server.pk, by), name=f"mcp {server.name}", daemon=True
            ).start()
    except BaseException:
        _free.release()
        raise
    if not is_free:
        _free.release()


@transaction.atomic
def _claim(server: McpServer) -> bool:
    row = McpServer.objects.select_for_update().get(pk=server.pk)
    if row.is_refreshing:
        return False
    row.refresh_beat_at, row.refresh_progress = timezone.now(), "Connecting."
    row.save(update_fields=["refresh_beat_at", "refresh_progress"])
    return True


def _refresh(server_id: int, by: Actor) -> None:
    try:
        server = McpServer.objects.select_related("workspace").get(pk=server_id)
        refresh_mcp_server(server, by=by)
    except McpServer.DoesNotExist:
        return  # removed meanwhile
    except Exception:
        logger.exception("The refresh of the MCP server %s failed", server_id)
    finally:
        connections.close_all()
        _free.release()
