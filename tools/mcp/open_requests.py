"""Limit on the unanswered requests of a server."""

from __future__ import annotations

from typing import Final

import anyio
import mcp_types
from mcp_types import JSONRPCMessage

#: More are not read before some of these are answered.
MAX_OPEN: Final = 32
_CANCELLED: Final = "notifications/cancelled"
_ANSWERS: Final = (mcp_types.JSONRPCResponse, mcp_types.JSONRPCError)


class OpenRequests:
    """Requests that a process has sent and that are not answered on its input.

    A process that sends requests and does not read would fill the memory with responses.
    """

    def __init__(self) -> None:
        self._open: set[object] = set()
        self._changed = anyio.Event()

    async def add(self, message: JSONRPCMessage) -> None:
        """Note a message of the server; wait first, if it is a request beyond the bound."""
        if isinstance(message, mcp_types.JSONRPCRequest):
            while len(self._open) >= MAX_OPEN:
                await self._changed.wait()
            self._open.add(message.id)
        elif isinstance(message, mcp_types.JSONRPCNotification) and message.method == _CANCELLED:
            self._remove((message.params or {}).get("requestId"))

    def answered(self, message: JSONRPCMessage) -> None:
        """Note a message that was written to the server."""
        if isinstance(message, _ANSWERS):
            self._remove(message.id)

    def _remove(self, number: object) -> None:
        if isinstance(number, (int, str)):
            self._open.discard(number)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
