"""The guarded client of MCP servers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from heartbit_site.base.http.allow import AllowRule
from heartbit_site.base.http.client import GuardedClient

#: Maximum silence of a server in a stream of events; calls have their own deadlines.
SILENCE_SECONDS: Final = 600.0
STREAM_SECONDS: Final = 24 * 3600.0


def guarded_mcp_client(*, allow: Iterable[AllowRule] = ()) -> GuardedClient:
    """Return a guarded client for MCP servers: its streams may be long and silent.

    Args:
        allow: As for ``GuardedClient``.
    """
    return GuardedClient(
        allow=allow,
        deadline_seconds=STREAM_SECONDS,
        silence_seconds=SILENCE_SECONDS,
        follow_redirects=False,
        max_connections=None,
    )
