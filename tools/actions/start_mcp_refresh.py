"""Refresh an MCP server in the background of this process."""

from __future__ import annotations

import logging
import threading
from typing import Final

from django.db import connections, transaction
from django.utils import timezone

from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import ConflictError
from heartbit_site.base.rights import require
from tools.actions.refresh_mcp_server import refresh_mcp_server
from tools.models import McpServer

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
