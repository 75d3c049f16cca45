"""The machine form of an update: a JSON object a line, of ``--watch --json`` and of streams. Pure.

    {"type": "run", "run": id, "parent": id | null, "agent": "writer", "task": "..."}
    {"type": "event", "run": id, "seq": 3, "at": time, "event": "model.answered", "payload": {...}}
    {"type": "delta", "run": id, "turn": 1, "attempt": 1001, "offset": 0, "kind": "text",
     "text": "..."}

Times are ISO 8601 in UTC.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any

from agents import events
from agents.live.updates import Happened, RunSeen, Streamed, Update


def line_of(update: Update) -> dict[str, Any]:
    """One update."""
    match update:
        case RunSeen(run):
            return {
                "type": "run",
                "run": str(run.pk),
                "parent": str(run.parent_id) if run.parent_id else None,
                "agent": run.agent,
                "task": run.task,
            }
        case Happened(run_id, recorded):
            encoded = events.encode(recorded.event)
            return {
                "type": "event",
                "run": str(run_id),
                "seq": recorded.seq,
                "at": recorded.at.astimezone(UTC).isoformat(),
                "event": encoded["type"],
                "payload": encoded["payload"],
            }
        case Streamed(run_id, delta):
            return {
                "type": "delta",
                "run": str(run_id),
                "turn": delta.turn,
                "attempt": delta.attempt,
                "offset": delta.offset,
                "kind": delta.kind,
                "text": delta.text,
            }
