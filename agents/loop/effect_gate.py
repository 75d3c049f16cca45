"""Whether a slice may begin an effect, and when it has to end: the process's word to the loop."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class EffectGate:
    """One slice's standing with its process. Everything happens on one loop.

    A slice that has to leave is stopped at once, unless an effect is under way: that one is
    finished and journaled first, so that a deploy leaves no call of unknown outcome.

    Attributes:
        yield_reason: Why the slice should end when its turn is complete; empty: it need not.
    """

    def __init__(self, proven: Callable[[], Awaitable[None]], stop: Callable[[], object]) -> None:
        """Take what waits until the process can prove that it lives, and what stops the slice."""
        self.yield_reason = ""
        self._proven = proven
        self._stop = stop
        self._acting = 0
        self._leaving = False

    def request_yield(self, reason: str) -> None:
        """End the slice when its turn is complete."""
        self.yield_reason = reason

    def drain(self) -> None:
        """Stop the slice as soon as no effect is under way."""
        self._leaving = True
        if not self._acting:
            self._stop()

    async def wait_until_alive(self) -> None:
        """Wait until the process can prove that it lives.

        One that was frozen for longer than a lease, and has not heard yet that its runs are
        others', would ask a model for what they have been told already.
        """
        await self._proven()

    @asynccontextmanager
    async def effect(self) -> AsyncIterator[None]:
        """Do something that has an effect outside, from its intent to its result.

        Nothing begins while the process cannot prove that it lives: somebody else may hold the run
        already. Nothing begins any more in a slice that leaves: it is about to be stopped.
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
