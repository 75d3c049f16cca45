"""Decoding of events that tolerates other versions of Heartbit. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agents.journal import events
from agents.journal.events import Event


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
