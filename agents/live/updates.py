"""Updates that a reader of a run tree receives, from the database or the API. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from pydantic import ValidationError

from agents.journal import events
from agents.journal.events import Event, RecordedEvent
from agents.journal.phrase import Phrase
from agents.runs.live_entries import Delta, Progress

if TYPE_CHECKING:
    from agents.models import Run, RunEvent


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An event of an unknown type or form. It does not change the view of its run."""

    type: str
    payload: dict[str, Any]

    def phrase(self, name_of: Callable[[str], str]) -> Phrase:
        """Return the type, as nothing else is known about the event."""
        del name_of
        return Phrase(self.type)


def readable(kind: str, payload: dict[str, Any]) -> Event | Unreadable:
    """Return the event of a stored row, or an ``Unreadable`` in its place."""
    try:
        return events.decode(kind, payload)
    except (KeyError, ValidationError):
        return Unreadable(kind, payload)


def encoded(event: Event | Unreadable) -> dict[str, Any]:
    """Return the type and the payload of an event that ``readable`` returned."""
    if isinstance(event, Unreadable):
        return {"type": event.type, "payload": event.payload}
    return events.encode(event)


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """A run of the tree, when it is first seen and whenever its row changed."""

    run_id: UUID
    parent_id: UUID | None
    kind: str
    agent: str
    task: str


@dataclass(frozen=True, slots=True)
class EventUpdate:
    """An event of a run's journal."""

    run_id: UUID
    recorded: RecordedEvent


@dataclass(frozen=True, slots=True)
class DeltaUpdate:
    """Text of a model call in flight."""

    run_id: UUID
    delta: Delta


@dataclass(frozen=True, slots=True)
class ProgressUpdate:
    """Sentence of a running tool."""

    run_id: UUID
    progress: Progress


def seen(run: Run) -> RunUpdate:
    """Return a run's row as an update."""
    return RunUpdate(run.pk, run.parent_id, run.kind, run.agent, run.task)


def happened(row: RunEvent) -> EventUpdate:
    """Return a journal row as an update."""
    event = cast("Event", readable(row.type, row.payload))
    return EventUpdate(row.run_id, RecordedEvent(row.seq, row.at, event))


Update = RunUpdate | EventUpdate | DeltaUpdate | ProgressUpdate
