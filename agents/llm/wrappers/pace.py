"""Pace of model calls: none starts while the process's loop is behind with its other work.

An answer that waits in a socket is lost if the process dies, and has to be paid for again. A loop
that is behind therefore starts no calls whose answers it could not take; those that have come in
and wait to be journaled have precedence.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.llm.wrappers.closing import closing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from agents.llm.messages import ChatRequest, StreamEvent
    from agents.llm.protocol import ChatModel

BEHIND_SECONDS = 0.005  # of one pass over everything that is ready
LONGEST_SECONDS = 0.1  # after the call before; a loop that is always behind has to go on, too


class Pace:
    """The turns of one loop: a call at a time, each after a pass of the loop that was short."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock of seconds with any origin."""
        self._clock = clock
        self._order = asyncio.Lock()

    async def turn(self) -> None:
        """Wait until the loop keeps up; at most for ``LONGEST_SECONDS`` after the call before."""
        async with self._order:
            began = before = self._clock()
            while True:
                await asyncio.sleep(0)
                now = self._clock()
                if now - before < BEHIND_SECONDS or now - began > LONGEST_SECONDS:
                    return
                before = now


@dataclass(frozen=True, slots=True)
class PacedModel:
    """A ``ChatModel`` whose calls wait for their turn."""

    model: ChatModel
    pace: Pace

    @property
    def name(self) -> str:
        """``provider:model``, as journaled."""
        return self.model.name

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """See ``ChatModel.stream``."""
        await self.pace.turn()
        async with closing(self.model.stream(request)) as events:
            async for event in events:
                yield event
