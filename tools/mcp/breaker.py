"""Circuit breaker for a server that failed several times in a row, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tools.mcp.errors import McpError

FAILURES: Final = 5
PAUSE_SECONDS: Final = 30.0


class ServerBreaker:
    """Refuses calls of a failing server; after the pause a single call probes it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[int, int] = {}
        self._until: dict[int, float] = {}

    def admit(self, server_id: int, name: str) -> None:
        """Admit a call.

        Raises:
            McpError: The server is paused.
        """
        left = self._until.get(server_id, 0.0) - self._clock()
        if left > 0:
            raise McpError(
                f"The MCP server {name} failed {FAILURES} times in a row: its next call is "
                f"allowed in {left:.0f} s."
            )

    def failed(self, server_id: int) -> None:
        """Count a failure."""
        self._failures[server_id] = self._failures.get(server_id, 0) + 1
        if self._failures[server_id] >= FAILURES:
            self._until[server_id] = self._clock() + PAUSE_SECONDS

    def succeeded(self, server_id: int) -> None:
        """Forget the failures of a server that answered."""
        self._failures.pop(server_id, None)
        self._until.pop(server_id, None)
