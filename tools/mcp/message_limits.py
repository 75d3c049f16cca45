"""Limits on a server's messages: their rate, and its unanswered requests.

Each message of a server takes time of the loop that all runs share. A server may send what its
calls require, plus a fixed allowance; further messages are read slowly, so that no other run waits.
"""

from __future__ import annotations

import time
from typing import Final

import anyio
import mcp_types
from mcp_types import JSONRPCMessage

#: Burst of unsolicited messages that a server may send, and their rate per second after that.
BURST: Final = 1_000
PER_SECOND: Final = 10
#: Messages that it may send per request: progress, log lines, and the response.
PER_REQUEST: Final = 100
#: A longer message counts as several.
BYTES: Final = 100_000


class MessagePace:
    """Messages that a server may still send without waiting."""

    def __init__(self) -> None:
        self._left = float(BURST)
        self._at = time.monotonic()

    def grant(self) -> None:
        """Allow the messages that one request causes."""
        self._left = min(BURST, self._left + PER_REQUEST)

    async def take(self, messages: float, size: int) -> None:
        """Wait until the server may send these messages.

        Args:
            messages: Number of messages, or a fraction of one.
            size: Their size in bytes.
        """
        now = time.monotonic()
        self._left = min(BURST, self._left + PER_SECOND * (now - self._at))
        self._at = now
        self._left -= messages + size / BYTES
        if self._left < 0:
            await anyio.sleep(-self._left / PER_SECOND)


#: Further requests are not read until some of these are answered.
MAX_OPEN: Final = 32
_CANCELLED: Final = "notifications/cancelled"
_ANSWERS: Final = (mcp_types.JSONRPCResponse, mcp_types.JSONRPCError)


class OpenRequests:
    """Requests from a process that have not been answered on its input.

    A process that sends requests and does not read would fill the memory with responses.
    """

    def __init__(self) -> None:
        self._open: set[object] = set()
        self._changed = anyio.Event()

    async def add(self, message: JSONRPCMessage) -> None:
        """Record a message of the server; wait first if it is a request beyond the limit."""
        if isinstance(message, mcp_types.JSONRPCRequest):
            while len(self._open) >= MAX_OPEN:
                await self._changed.wait()
            self._open.add(message.id)
        elif isinstance(message, mcp_types.JSONRPCNotification) and message.method == _CANCELLED:
            self._remove((message.params or {}).get("requestId"))

    def answered(self, message: JSONRPCMessage) -> None:
        """Record a message that was written to the server."""
        if isinstance(message, _ANSWERS):
            self._remove(message.id)

    def _remove(self, number: object) -> None:
        if isinstance(number, (int, str)):
            self._open.discard(number)
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
