"""A run's state and its journal, always moved together: what is written is what is folded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.journal.events import Ending, Event, RunCancelled, RunFailed
from agents.loop.ports import Committed, Conflict, Journal, Pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.loop.state import RunState


class JournaledState:
    """Writes events through the lease and folds what the journal then holds.

    Attributes:
        state: The fold; nothing else changes it.
    """

    def __init__(self, state: RunState, journal: Journal) -> None:
        self.state = state
        self._journal = journal
        self._order = asyncio.Lock()  # parallel calls write; they must fold in the journal's order

    async def record(self, *events: Event) -> None:
        """Append events, and fold them after whatever others appended before."""
        async with self._order:
            for recorded in await self._journal.record(*events):
                self.state.fold(recorded)

    async def transact(self, body: Callable[[], Event], *, timeout_seconds: float) -> None:
        """Run a tool and journal its result in one transaction (see ``Journal.transact``)."""
        async with self._order:
            if self.state.cancel_reason is not None:
                return  # a parallel write told us; no tail will, so nothing would undo it
            for recorded in await self._journal.transact(body, timeout_seconds=timeout_seconds):
                self.state.fold(recorded)

    async def finish(self, ending: Ending, *events: Event) -> bool:
        """End the run; False when others were quicker: their events are folded, decide again."""
        return self._settled(await self._journal.finish(ending, *events))

    async def suspend(self, *pending: Pending) -> bool:
        """Give the worker back until the waits end; False as for ``finish``."""
        return self._settled(await self._journal.suspend(*pending))

    async def cancel(self) -> None:
        """End the run as cancelled, keeping what was produced."""
        while True:
            # The request itself is in the journal's tail, so the first try may only fold it.
            reason = self.state.cancel_reason or "cancelled"
            if await self.finish(RunCancelled(reason=reason, partial=self.state.partial)):
                return

    async def fail(self, ending: RunFailed) -> None:
        """End the run as failed, whatever else was written meanwhile."""
        while not await self.finish(ending):
            pass  # the journal moved: its tail is folded now

    def _settled(self, result: Committed | Conflict) -> bool:
        if isinstance(result, Committed):
            return True
        for recorded in result.tail:
            self.state.fold(recorded)
        return False
