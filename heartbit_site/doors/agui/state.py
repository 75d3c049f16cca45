"""Shared state of a run: the blackboard of its tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from agents.querysets import blackboard


def read_state(run_id: UUID) -> dict[str, Any]:
    """Return the blackboard of a run at the top of its tree. Blocks."""
    return dict(blackboard(run_id).order_by("key").values_list("key", "value"))


class SharedState:
    """State as the client has it.

    Args:
        given: State of the request; its other keys are kept, if it is an object.
    """

    def __init__(self, given: Any) -> None:
        self._given = given if isinstance(given, dict) else {}
        self._sent: dict[str, Any] = {}

    def take(self, entries: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the event of a change: first a snapshot, later deltas."""
        before, self._sent = self._sent, entries
        if before == entries:
            return
        if not before:
            yield {"type": "STATE_SNAPSHOT", "snapshot": {**self._given, **entries}}
            return
        changed = [
            {"op": "add", "path": _path(key), "value": value}
            for key, value in entries.items()
            if key not in before or before[key] != value
        ]
        gone = [{"op": "remove", "path": _path(key)} for key in before if key not in entries]
        yield {"type": "STATE_DELTA", "delta": [*gone, *changed]}


def _path(key: str) -> str:
    """Return a key as a JSON Pointer (RFC 6901)."""
    return "/" + key.replace("~", "~0").replace("/", "~1")
