"""State of a run together with its journal: every write is folded into the state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Generic, TypeVar

from agents.journal.events import (
    CancelRequested,
    Ending,
    Event,
    RecordedEvent,
    RunCancelled,
    RunFailed,
)
from agents.loop.ports import Committed, Conflict, Journal, Pending
from agents.loop.state import RunState

State_co = TypeVar("State_co", bound=RunState, covariant=True)


def _unchanged(event: Event) -> Event:
    return event


class JournaledState(Generic[State_co]):
    """Writer that appends events through the lease and folds what the journal then holds.

    Attributes:
        state: Fold of the journal, and of events that the next write begins with; nothing else
            changes it.
        translate: Applied to each event before it is written; a kind of run sets it whose calls
            have results of another type than ``ToolFinished``.
    """

    def __init__(self, state: State_co, journal: Journal) -> None:
        self.state = state
        self.translate: Callable[[Event], Event] = _unchanged
        self._journal = journal
        self._ahead: list[Event] = []
        self._order = asyncio.Lock()  # one write at a time from the loop
        self._loop = asyncio.get_running_loop()

    @property
    def is_ahead(self) -> bool:
        """True if the state has events that are not written yet."""
        return bool(self._ahead)

    def fold_ahead(self, *events: Event) -> None:
        """Fold events now that the next write begins with; until then nothing may act on them."""
        for event in events:
            self.state.apply(event)
        self._ahead += events

    async def record(self, *events: Event) -> None:
        """Append events, and fold them after those that others appended before."""
        async with self._order:
            written = (*self._ahead, *map(self.translate, events))
            self._fold(await self._journal.record(*written))

    def record_here(self, *events: Event) -> bool:
        """Append events from a tool's thread; return False if a cancel came before intents.

        The events are folded before anything that this thread reports to the loop later.
        """
        if self._ahead:
            raise RuntimeError("a tool acts on events that are not written yet")
        written = [self.translate(event) for event in events]
        recorded = self._journal.record_here(self.state.folded_seq, *written)
        with suppress(RuntimeError):  # the process has closed its loop: there is no fold to update
            self._loop.call_soon_threadsafe(self._fold_here, recorded)
        return any(one.event is written[-1] for one in recorded)

    def is_cancelled_here(self) -> bool:
        """Return True if the run has been cancelled; reads the journal, from a tool's thread."""
        if self.state.cancel_reason is not None:
            return True
        recorded = self._journal.record_here(self.state.folded_seq)
        with suppress(RuntimeError):  # the loop is closed, as above
            self._loop.call_soon_threadsafe(self._fold_here, recorded)
        return any(isinstance(one.event, CancelRequested) for one in recorded)

    async def transact(self, body: Callable[[], Event], *, timeout_seconds: float) -> None:
        """Run a tool and journal its result in one transaction (see ``Journal.transact``)."""
        async with self._order:
            if self.state.cancel_reason is not None:
                return  # a parallel write has folded the cancel: ``transact`` would not see it

            def translated() -> Event:
                return self.translate(body())

            self._fold(await self._journal.transact(translated, timeout_seconds=timeout_seconds))

    async def finish(self, ending: Ending, *events: Event) -> bool:
        """End the run; return False after a conflict: fold it and decide again.

        A result that people should review leaves the run only with their approval: any other end
        of such a run has no text. Deliveries, webhooks and clients read what the end has.
        """
        if self.state.review is not None and isinstance(ending, RunFailed | RunCancelled):
            ending = replace(ending, partial="")
        return self._settled(await self._journal.finish(ending, *self._ahead, *events))

    async def begin_waits(self, *pending: Pending) -> bool:
        """Create waits, and continue meanwhile; return False as ``finish`` does."""
        if self._ahead:
            await self.record()
        async with self._order:
            result = await self._journal.begin_waits(*pending)
            is_conflict = isinstance(result, Conflict)
            self._fold(result.tail if isinstance(result, Conflict) else result)
            return not is_conflict

    async def suspend(
        self, *pending: Pending, first: Sequence[Event] = (), wake_at: int = 0
    ) -> bool:
        """Release the worker until the waits end; return False as ``finish`` does."""
        events = (*self._ahead, *first)
        return self._settled(await self._journal.suspend(*pending, first=events, wake_at=wake_at))

    async def cancel(self) -> None:
        """End the run as cancelled, keeping its partial text if no one was to review it."""
        while True:
            # The first attempt may only fold the cancel request from the journal's tail.
            reason = self.state.cancel_reason or "cancelled"
            if await self.finish(RunCancelled(reason=reason, partial=self.state.partial)):
                return

    async def fail(self, ending: RunFailed) -> None:
        """End the run as failed, even if other events came first."""
        while not await self.finish(ending):
            pass  # conflict: the tail is folded now

    def _settled(self, result: Committed | Conflict) -> bool:
        if isinstance(result, Committed):
            # A kept state continues after them (``agents.runtime.execution.slot``).
            self.state.folded_seq += len(self._ahead)
            self._ahead.clear()
            return True
        self._fold(result.tail)
        return False

    def _fold(self, events: Iterable[RecordedEvent]) -> None:
        """Fold new events: the loop and tools' threads may each report the same ones."""
        for recorded in events:
            if recorded.seq <= self.state.folded_seq:
                continue
            if self._ahead and recorded.event is self._ahead[0]:
                self.state.skip(recorded)
                del self._ahead[0]
            else:
                self.state.fold(recorded)

    def _fold_here(self, events: Iterable[RecordedEvent]) -> None:
        """Fold events written from a tool's thread, and report them to the journal port."""
        self._fold(events)
        self._journal.committed(self.state.folded_seq)
