"""Rate limit of a server's messages: the server waits, and no other run does.

Each message of a server takes time of the loop that all runs share. A server may send what its
calls require, and a number beyond that; the rest is read slowly.
"""

from __future__ import annotations

import time
from typing import Final

import anyio

#: Messages that a server may send unasked at once, and in each second after that.
BURST: Final = 1_000
PER_SECOND: Final = 10
#: Messages that it may send for each request: progress, log lines, and the answer.
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
        """Wait until the server may send this.

        Args:
            messages: Number of messages, or a part of one.
            size: Their bytes.
        """
        now = time.monotonic()
        self._left = min(BURST, self._left + PER_SECOND * (now - self._at))
        self._at = now
        self._left -= messages + size / BYTES
        if self._left < 0:
            await anyio.sleep(-self._left / PER_SECOND)
