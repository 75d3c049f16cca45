"""What a reader of a run tree is told, from near (``follow``) or from afar (the API). Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from agents.journal.events import RecordedEvent
from agents.live.readable import readable

if TYPE_CHECKING:
    from uuid import UUID

    from agents.journal.events import Event
    from agents.models import RunEvent
    from agents.runs.live_entries import Delta


class RunSummary(Protocol):
    """What every reader may know of a run: a row has it, and so has what a server says."""

    @property
    def pk(self) -> Any:
        """Its id, a UUID."""
        ...

    @property
    def parent_id(self) -> UUID | None:
        """The run that delegated to it."""
        ...

    @property
    def agent(self) -> str:
        """Who does it."""
        ...

    @property
    def task(self) -> str:
        """What is to be done."""
        ...


@dataclass(frozen=True, slots=True)
class RunUpdate:
    """A run of the tree, when it is first seen and whenever its row changed."""

    run: RunSummary

    @property
    def run_id(self) -> UUID:
        """Its id."""
        found: UUID = self.run.pk
        return found


@dataclass(frozen=True, slots=True)
class EventUpdate:
    """An event of a run's journal."""

    run_id: UUID
    recorded: RecordedEvent


@dataclass(frozen=True, slots=True)
class DeltaUpdate:
    """Text of a model call that is under way."""

    run_id: UUID
    delta: Delta


def happened(row: RunEvent) -> EventUpdate:
    """Return a row of a journal as a reader is told of it."""
    event = cast("Event", readable(row.type, row.payload))
    return EventUpdate(row.run_id, RecordedEvent(row.seq, row.at, event))


Update = RunUpdate | EventUpdate | DeltaUpdate
