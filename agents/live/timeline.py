"""Timeline of a run: spans in the queue, model calls, tools and waits. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Parts = dict[str, Any]


@dataclass(slots=True)
class Timeline:
    """Spans of a run, each a part of the run's view.

    Attributes:
        changed: Spans that the last event changed; None: removed.
    """

    parts: dict[str, Parts] = field(default_factory=dict)
    changed: dict[str, Parts | None] = field(default_factory=dict)
    _count: int = 0
    _open: dict[str, str] = field(default_factory=dict)

    def open(self, key: str, kind: str, at: datetime, **more: Any) -> None:
        """Begin a span whose end is not known yet."""
        self.close(key, at)
        name = self._open[key] = self._next_name()
        self._keep(name, {"kind": kind, "from": to_ms(at), "to": None, **more})

    def close(self, key: str, at: datetime) -> None:
        """End the span that is open under a key, if any."""
        name = self._open.pop(key, None)
        if name is not None:
            part = self.parts[name]
            self._keep(name, {**part, "to": max(part["from"], to_ms(at))})

    def close_all(self, at: datetime) -> None:
        """End every open span."""
        for key in list(self._open):
            self.close(key, at)

    def add(
        self, kind: str, since: datetime | None, until: datetime, ms: float, **more: Any
    ) -> None:
        """Add a span of ``ms`` that ends at ``until`` and begins no earlier than ``since``."""
        end = to_ms(until)
        begin = max(to_ms(since) if since else 0, end - round(ms))
        self._keep(self._next_name(), {"kind": kind, "from": begin, "to": end, **more})

    def clear(self) -> None:
        """Remove all spans."""
        self.changed.update(dict.fromkeys(self.parts))
        self.parts.clear()
        self._open.clear()

    def _keep(self, name: str, part: Parts) -> None:
        self.parts[name] = self.changed[name] = part

    def _next_name(self) -> str:
        self._count += 1
        return f"time {self._count}"


def to_ms(at: datetime) -> int:
    """Return a time as milliseconds since 1970."""
    return round(at.timestamp() * 1000)
