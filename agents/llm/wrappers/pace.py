"""Pace of model calls: a process requests no more answers than it can journal.

An answer that waits in a socket, or to be journaled, is lost if the process crashes, and must be
paid for again. So no call starts while the loop is behind with its other work. And since calls that
start together also end together, only a few may: further calls start one by one, only a little
faster than answers were journaled recently.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agents.llm.messages import ChatRequest, StreamEvent
from agents.llm.protocol import ChatModel
from agents.llm.wrappers.closing import closing

BEHIND_SECONDS = 0.005  # duration of one pass of the loop over all ready callbacks
LONGEST_SECONDS = 0.1  # longest wait: a process that is always behind must make progress, too
CALLS_AT_ONCE = 32  # calls that may start together: their answers are soon journaled
BACKLOG = 8  # answers that wait for the journal; about as many are written at the same time
USUAL_INTERVAL = 0.002  # seconds between journaled answers, until measured
LONGEST_INTERVAL = 0.003  # longer intervals would leave the process idle
NEWS = 0.1  # weight of a new interval
RELIEF = 0.98  # factor for each answer that did not wait: the process is faster than measured


class Pace:
    """Queue for the model calls of one loop: they start one at a time.

    Attributes:
        interval: Seconds between the starts of calls, while many are in flight.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take a clock of seconds with any origin."""
        self._clock = clock
        self._order = asyncio.Lock()
        self._begun_at = self._journaled_at = float("-inf")
        self._calls = self._answers = 0  # in flight, and received but not yet journaled
        self.interval = USUAL_INTERVAL

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Surround a call, from its start to the end of its answer."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    @contextmanager
    def journaling(self) -> Iterator[None]:
        """Surround the time from a complete answer until it is journaled."""
        self._answers += 1
        try:
            yield
        finally:
            self._answers -= 1
            before, self._journaled_at = self._journaled_at, self._clock()
            if self._answers < BACKLOG:
                self.interval *= RELIEF
            else:
                taken = min(self._journaled_at - before, LONGEST_INTERVAL)
                self.interval += NEWS * (taken - self.interval)

    async def turn(self) -> None:
        """Wait until the process keeps up, at most about ``LONGEST_SECONDS``."""
        async with self._order:
            if self._calls + self._answers >= CALLS_AT_ONCE:
                await asyncio.sleep(self._begun_at + self.interval - self._clock())
            began = before = self._clock()
            while True:
                await asyncio.sleep(0)
                now = self._clock()
                if now - before < BEHIND_SECONDS or now - began > LONGEST_SECONDS:
                    self._begun_at = now
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
        with self.pace.calling():
            async with closing(self.model.stream(request)) as events:
                async for event in events:
                    yield event
