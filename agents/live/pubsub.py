"""Live output: a process publishes entries, readers subscribe to them.

The interface has two implementations: ``InMemoryLiveStream`` for one process, and
``agents.live.valkey`` for the fleet.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from agents.live.ends import Ends
from agents.llm.messages import StreamEvent, TextDelta, ThinkingDelta
from agents.runs.live_entries import (
    Delta,
    DeltaKind,
    Entry,
    JournalAdvanced,
    Progress,
    RunEnd,
    RunEnded,
)

#: Position of a reader in one run's stream; the empty cursor is the beginning.
Cursor = str
START: Cursor = ""


class LivePublisher(Protocol):
    """Publisher of live output. Never blocks, never fails a run."""

    def publish(self, run_id: UUID, entry: Entry) -> None:
        """Add an entry to the run's stream, soon."""
        ...


class LiveSubscriber(Protocol):
    """Reader of live output."""

    @property
    def ends(self) -> Ends:
        """Waiters for the ends of runs."""
        ...

    async def read(
        self, cursors: Mapping[UUID, Cursor], *, timeout: float
    ) -> list[tuple[UUID, Cursor, Entry]]:
        """Return entries after the cursors, oldest first; empty after ``timeout`` seconds."""
        ...


class RunPublisher:
    """Publisher of one run, the loop's ``LiveOutput`` port.

    ``token`` (the lease token) makes attempts of different slices distinct and ascending.
    """

    def __init__(self, publisher: LivePublisher, run_id: UUID, token: int) -> None:
        self._publisher = publisher
        self._run_id = run_id
        self._attempt = token * 1000
        self._offset = 0

    def restarted(self, turn: int) -> None:
        """Begin a model call; text published for this turn before is discarded."""
        self._attempt += 1
        self._offset = 0

    def delta(self, turn: int, event: StreamEvent) -> None:
        """Publish a piece of the model's answer."""
        if isinstance(event, TextDelta):
            self._put(turn, event.text, "text")
        elif isinstance(event, ThinkingDelta):
            self._put(turn, event.text, "thinking")

    def progress(self, call_id: str, text: str) -> None:
        """Publish the progress of a running call."""
        self._publisher.publish(self._run_id, Progress(call_id, text))

    def advanced(self, seq: int) -> None:
        """Publish that the journal was committed up to ``seq``."""
        self._publisher.publish(self._run_id, JournalAdvanced(seq))

    def ended(self, status: str, end: RunEnd | None = None) -> None:
        """Publish that the run reached a terminal state."""
        self._publisher.publish(self._run_id, RunEnded(status, end))

    def _put(self, turn: int, text: str, kind: DeltaKind) -> None:
        self._publisher.publish(self._run_id, Delta(turn, self._attempt, self._offset, text, kind))
        self._offset += len(text)


KEEP_ENDED = 256  # streams of ended runs; the text of older ones is in Postgres


class InMemoryLiveStream(Ends):
    """Publisher and subscriber in one process. A cursor is an index. For one loop only.

    Attributes:
        ends: Waiters for the ends of its runs, notified by the stream itself.
    """

    recalls = True

    def __init__(self) -> None:
        super().__init__()
        self.ends: Ends = self
        self._entries: dict[UUID, list[Entry]] = {}
        self._ended: deque[UUID] = deque()
        self._news = asyncio.Condition()
        self._readers = 0
        self._wakers: set[asyncio.Task[None]] = set()

    def _came(self, run_id: UUID) -> None:
        entries = self._entries.get(run_id)
        if entries and isinstance(entries[-1], RunEnded):
            self.tell(run_id, entries[-1].end)

    def publish(self, run_id: UUID, entry: Entry) -> None:
        """Add an entry to the run's stream, and notify the waiters of an end."""
        self._entries.setdefault(run_id, []).append(entry)
        if isinstance(entry, RunEnded):
            self._ended.append(run_id)
            if len(self._ended) > KEEP_ENDED:
                self._entries.pop(self._ended.popleft(), None)
            self.tell(run_id, entry.end)
        if not self._readers:
            return
        waker = asyncio.get_running_loop().create_task(self._wake())
        self._wakers.add(waker)
        waker.add_done_callback(self._wakers.discard)

    async def _wake(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def read(
        self, cursors: Mapping[UUID, Cursor], *, timeout: float
    ) -> list[tuple[UUID, Cursor, Entry]]:
        """Return entries after the cursors; wait at most ``timeout`` seconds for the first."""
        self._readers += 1
        try:
            async with self._news, asyncio.timeout(timeout):
                await self._news.wait_for(lambda: bool(self._after(cursors)))
                return self._after(cursors)
        except TimeoutError:
            return []
        finally:
            self._readers -= 1

    def _after(self, cursors: Mapping[UUID, Cursor]) -> list[tuple[UUID, Cursor, Entry]]:
        return [
            (run_id, str(index + 1), stream[index])
            for run_id, cursor in cursors.items()
            for stream in (self._entries.get(run_id, []),)
            for index in range(int(cursor or 0), len(stream))
        ]
