"""Base of the event types, and their codec. Pure.

Events are versioned JSON: a reader ignores fields it does not know and a field added later has a
default, so old journals stay readable. A type is never renamed.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

from pydantic import TypeAdapter

from agents.journal.phrase import Phrase

#: Event types by name. A kind of run adds its own by extending ``Event``.
EVENTS: Final[dict[str, type[Event]]] = {}
#: Modules of types that few processes read, by type; each is imported when it is first needed.
_LATE: Final = {
    "graph.committed": "agents.workflows.events",
    "node.finished": "agents.workflows.events",
}


class Event:
    """An event of a run's journal: a frozen dataclass with the name of its type.

    Attributes:
        is_brief: True if its payload leaves out what has its default.
    """

    __slots__ = ()
    type: ClassVar[str]
    is_brief: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Register the type by its name."""
        EVENTS[cls.type] = cls

    def phrase(self, name_of: Callable[[str], str]) -> Phrase:
        """Describe the event; ``agents.live.words`` has the words of Heartbit's own types.

        Args:
            name_of: Names a tool call of the run by its id.
        """
        return Phrase(self.type)


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """An event with its sequence number and its time."""

    seq: int
    at: datetime
    event: Event


@functools.cache
def _adapter(kind: str) -> TypeAdapter[Event]:
    """Return the codec of a type, built on first use: a short command needs few of them."""
    if kind in _LATE and kind not in EVENTS:
        importlib.import_module(_LATE[kind])
    return TypeAdapter(EVENTS[kind])


def encode(event: Event) -> dict[str, Any]:
    """Return the stored form of an event: its type and a JSON payload."""
    adapter = _adapter(event.type)
    payload = adapter.dump_python(event, mode="json", exclude_defaults=event.is_brief)
    return {"type": event.type, "payload": payload}


def decode(kind: str, payload: dict[str, Any]) -> Event:
    """Return the event of a stored row.

    Raises:
        KeyError: The type is unknown to this version of Heartbit.
        pydantic.ValidationError: The payload does not fit the type.
    """
    return _adapter(kind).validate_python(payload)


def decode_row(row: dict[str, Any]) -> RecordedEvent:
    """Return the event of a row that a journal function returned: ``{seq, type, payload, at}``."""
    return RecordedEvent(
        seq=row["seq"],
        at=datetime.fromisoformat(row["at"]),
        event=decode(row["type"], row["payload"]),
    )
