"""Updates that a reader of a run tree receives, from the database or the API. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast
from uuid import UUID

from pydantic import ValidationError

from agents.journal import events
from agents.journal.events import Event, RecordedEvent
from agents.runs.live_entries import Delta, Progress

if TYPE_CHECKING:
    from agents.models import RunEvent


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An event of an unknown type or form. It does not change the view of its run."""

    type: str
    payload: dict[str, Any]


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


class RunSummary(Protocol):
    """Facts of a run that every reader has: a row, or a server's answer."""

    @property
    def pk(self) -> Any:
        """UUID of the run."""
        ...

    @property
    def parent_id(self) -> UUID | None:
        """Id of the run that delegated to this one."""
        ...

    @property
    def kind(self) -> str:
        """Kind of the run."""
        ...

    @property
    def agent(self) -> str:
        """Name of the agent."""
        ...

    @property
    def task(self) -> str:
        """Text of the task."""
        ...


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """A run of the tree, when it is first seen and whenever its row changed."""

    run: RunSummary

    @property
    def run_id(self) -> UUID:
        """UUID of the run."""
        found: UUID = self.run.pk
        return found


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


def happened(row: RunEvent) -> EventUpdate:
    """Return a journal row as an update."""
    event = cast("Event", readable(row.type, row.payload))
    return EventUpdate(row.run_id, RecordedEvent(row.seq, row.at, event))


Update = RunUpdate | EventUpdate | DeltaUpdate | ProgressUpdate
