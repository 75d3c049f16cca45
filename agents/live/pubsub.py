"""The seam of live output: a process writes into a window, readers follow it.

Two implementations: ``valkey.ValkeyWindow`` for the fleet, ``local.LocalWindow`` for one process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agents.llm.messages import StreamEvent, TextDelta, ThinkingDelta
from agents.runs.live_entries import Delta, DeltaKind, Entry, JournalAdvanced, RunEnd, RunEnded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

#: Where a reader is in one run's stream; the empty cursor is its beginning.
Cursor = str
START: Cursor = ""


class LivePublisher(Protocol):
    """Where a process puts live output. Never blocks, never fails a run."""

    def publish(self, run_id: UUID, entry: Entry) -> None:
        """Add an entry to the run's stream, soon."""
        ...


class LiveSubscriber(Protocol):
    """Where a reader finds it."""

    async def read(
        self, cursors: Mapping[UUID, Cursor], *, timeout: float
    ) -> list[tuple[UUID, Cursor, Entry]]:
        """Entries after the cursors, oldest first; empty when none came within ``timeout`` s."""
        ...


class RunPublisher:
    """One run's side of a window; the loop's ``Live`` port.

    ``token`` (the lease) makes attempts of different slices distinct and rising.
    """

    def __init__(self, publisher: LivePublisher, run_id: UUID, token: int) -> None:
        self._publisher = publisher
        self._run_id = run_id
        self._attempt = token * 1000
        self._offset = 0

    def restarted(self, turn: int) -> None:
        """A model call begins; what readers saw of this turn before is void."""
        self._attempt += 1
        self._offset = 0

    def delta(self, turn: int, event: StreamEvent) -> None:
        """A piece of the model's answer."""
        if isinstance(event, TextDelta):
            self._put(turn, event.text, "text")
        elif isinstance(event, ThinkingDelta):
            self._put(turn, event.text, "thinking")

    def advanced(self, seq: int) -> None:
        """The journal was committed up to ``seq``."""
        self._publisher.publish(self._run_id, JournalAdvanced(seq))

    def ended(self, status: str, end: RunEnd | None = None) -> None:
        """The run reached a terminal state."""
        self._publisher.publish(self._run_id, RunEnded(status, end))

    def _put(self, turn: int, text: str, kind: DeltaKind) -> None:
        self._publisher.publish(self._run_id, Delta(turn, self._attempt, self._offset, text, kind))
        self._offset += len(text)
