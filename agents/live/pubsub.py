"""Interface of live output: a process publishes entries, readers subscribe to them.

Two implementations: ``agents.live.valkey`` for the fleet, ``agents.live.in_memory_stream`` for one
process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

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

if TYPE_CHECKING:
    from agents.live.ends import Ends

#: Where a reader is in one run's stream; the empty cursor is its beginning.
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
        """Publish what a running call has done so far."""
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
