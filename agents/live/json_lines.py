"""JSON lines of updates, for ``--watch --json`` and streams. Pure.

    {"type": "run", "run_id": id, "parent_id": id | null, "kind": "agent", "agent": "writer",
     "task": "..."}
    {"type": "event", "run_id": id, "seq": 3, "at": time, "event": "model.answered",
     "payload": {...}, "title": "Answered", "text": "...", "tone": "primary"}
    {"type": "delta", "run_id": id, "turn": 1, "attempt": 1001, "offset": 0, "kind": "text",
     "text": "..."}
    {"type": "progress", "run_id": id, "call_id": "1.0", "text": "..."}

Times are ISO 8601 in UTC. An event's text is truncated; its payload is complete.
"""

from __future__ import annotations

from datetime import UTC
from typing import Any

from agents.live.updates import DeltaUpdate, EventUpdate, ProgressUpdate, RunUpdate, Update, encoded
from agents.live.view import RunView
from agents.live.words import say
from heartbit_site.base.preview import preview


def to_json_line(update: Update, run: RunView) -> dict[str, Any]:
    """Return an update as a JSON object; ``run`` is the view with the update applied."""
    match update:
        case RunUpdate(seen):
            return {
                "type": "run",
                "run_id": str(seen.pk),
                "parent_id": str(seen.parent_id) if seen.parent_id else None,
                "kind": seen.kind,
                "agent": seen.agent,
                "task": seen.task,
            }
        case EventUpdate(run_id, recorded):
            event = encoded(recorded.event)
            said = say(recorded.event, run.name_of)
            return {
                "type": "event",
                "run_id": str(run_id),
                "seq": recorded.seq,
                "at": recorded.at.astimezone(UTC).isoformat(),
                "event": event["type"],
                "payload": event["payload"],
                "title": said.heading,
                "text": preview(said.text),
                "tone": said.tone,
            }
        case DeltaUpdate(run_id, delta):
            return {
                "type": "delta",
                "run_id": str(run_id),
                "turn": delta.turn,
                "attempt": delta.attempt,
                "offset": delta.offset,
                "kind": delta.kind,
                "text": delta.text,
            }
        case ProgressUpdate(run_id, said):
            return {
                "type": "progress",
                "run_id": str(run_id),
                "call_id": said.call_id,
                "text": said.text,
            }
