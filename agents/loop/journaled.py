"""State of a run together with its journal: every write is folded into the state."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from agents.journal.events import Ending, Event, RunCancelled, RunFailed
from agents.loop.ports import Committed, Conflict, Journal, Pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.loop.state import RunState


class JournaledState:
    """Writer that appends events through the lease and folds what the journal then holds.

    Attributes:
        state: Fold of the journal; nothing else changes it.
    """

    def __init__(self, state: RunState, journal: Journal) -> None:
        self.state = state
        self._journal = journal
        self._order = asyncio.Lock()  # makes parallel calls fold in the journal's order

    async def record(self, *events: Event) -> None:
        """Append events, and fold them after those that others appended before."""
        async with self._order:
            for recorded in await self._journal.record(*events):
                self.state.fold(recorded)

    async def transact(self, body: Callable[[], Event], *, timeout_seconds: float) -> None:
        """Run a tool and journal its result in one transaction (see ``Journal.transact``)."""
        async with self._order:
            if self.state.cancel_reason is not None:
                return  # already folded by a parallel write, so no tail would undo the effect
            for recorded in await self._journal.transact(body, timeout_seconds=timeout_seconds):
                self.state.fold(recorded)

    async def finish(self, ending: Ending, *events: Event) -> bool:
        """End the run; return False after a conflict: fold it and decide again."""
        return self._settled(await self._journal.finish(ending, *events))

    async def suspend(self, *pending: Pending) -> bool:
        """Release the worker until the waits end; return False as ``finish`` does."""
        return self._settled(await self._journal.suspend(*pending))

    async def cancel(self) -> None:
        """End the run as cancelled, keeping its partial text."""
        while True:
            # The first try may only fold the cancel request from the journal's tail.
            reason = self.state.cancel_reason or "cancelled"
            if await self.finish(RunCancelled(reason=reason, partial=self.state.partial)):
                return

    async def fail(self, ending: RunFailed) -> None:
        """End the run as failed, whatever others wrote meanwhile."""
        while not await self.finish(ending):
            pass  # conflict: the tail is folded now

    def _settled(self, result: Committed | Conflict) -> bool:
        if isinstance(result, Committed):
            return True
        for recorded in result.tail:
            self.state.fold(recorded)
        return False
