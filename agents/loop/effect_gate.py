"""Gate for external effects of a slice.

It blocks them until the worker has proven it is alive, and lets running ones finish before a stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager


class EffectGate:
    """Gate of one slice, used on one event loop.

    A slice that must stop is stopped at once, unless an effect is running: that effect is finished
    and journaled first, so that a deploy leaves no uncertain calls.

    Attributes:
        yield_reason: Reason to end the slice when its turn is complete; empty: none.
    """

    def __init__(self, proven: Callable[[], Awaitable[None]], stop: Callable[[], object]) -> None:
        """Take the wait for the process's proof of life, and the function that stops the slice."""
        self.yield_reason = ""
        self._proven = proven
        self._stop = stop
        self._acting = 0
        self._leaving = False

    def request_yield(self, reason: str) -> None:
        """Request the end of the slice when its turn is complete."""
        self.yield_reason = reason

    def drain(self) -> None:
        """Stop the slice as soon as no effect is running."""
        self._leaving = True
        if not self._acting:
            self._stop()

    async def wait_until_alive(self) -> None:
        """Wait until the process has proven that it is alive.

        Otherwise a process that was frozen for longer than a lease would repeat model calls of runs
        that other workers have claimed meanwhile.
        """
        await self._proven()

    @asynccontextmanager
    async def effect(self) -> AsyncIterator[None]:
        """Enclose an external effect, from its intent to its result.

        No effect begins before the process has proven that it is alive, because another worker may
        hold the run, and none in a slice that is about to stop.
        """
        await self.wait_until_alive()
        if self._leaving:
            await asyncio.get_running_loop().create_future()
        self._acting += 1
        try:
            yield
        finally:
            self._acting -= 1
            if self._leaving and not self._acting:
                self._stop()
