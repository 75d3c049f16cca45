"""Views of the runs of a tree, and JSON lines of updates. Pure.

Usage::

    tree = TreeView()
    async for update in follow(root_id, source):
        changed = tree.apply(update)

Lines, for ``--watch --json`` and streams::

    {"type": "run", "run_id": id, "parent_id": id | null, "kind": "agent", "agent": "writer",
     "task": "..."}
    {"type": "event", "run_id": id, "seq": 3, "at": time, "event": "model.answered",
     "payload": {...}, "title": "Answered", "text": "...", "tone": "primary"}
    {"type": "delta", "run_id": id, "turn": 1, "attempt": 1001, "offset": 0, "text": "...",
     "kind": "text"}
    {"type": "progress", "run_id": id, "call_id": "1.0", "text": "..."}

Times are ISO 8601 in UTC. An event's text is truncated; its payload is complete.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC
from typing import Any
from uuid import UUID

from agents.definitions.kinds import part_of
from agents.live.updates import DeltaUpdate, EventUpdate, ProgressUpdate, RunUpdate, Update, encoded
from agents.live.view import RunView
from agents.live.view_parts import Parts
from agents.live.words import say
from heartbit_site.base.preview import preview


class TreeView:
    """Views of the runs of one tree, in the order of first updates: parents before children."""

    def __init__(self) -> None:
        self.runs: dict[UUID, RunView] = {}

    def apply(self, update: Update) -> Parts | None:
        """Apply an update; return the changed parts of its run, or None if it was known."""
        match update:
            case RunUpdate(run_id, parent_id, kind, agent, task) if run_id not in self.runs:
                view: type[RunView] = part_of(kind, "view")
                self.runs[run_id] = view(run_id, parent_id, agent, task)
                return {}
            case RunUpdate():
                return None  # the run's events carry the changes of its row
            case EventUpdate(run_id, recorded):
                return self.runs[run_id].fold(recorded)
            case DeltaUpdate(run_id, delta):
                return self.runs[run_id].stream(delta)
            case ProgressUpdate(run_id, progress):
                return self.runs[run_id].progress(progress)


def to_json_line(update: Update, run: RunView) -> dict[str, Any]:
    """Return an update as a JSON object; ``run`` is the view with the update applied."""
    match update:
        case RunUpdate(run_id, parent_id):
            return {
                "type": "run",
                "run_id": str(run_id),
                "parent_id": str(parent_id) if parent_id else None,
                "kind": update.kind,
                "agent": update.agent,
                "task": update.task,
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
            return {"type": "delta", "run_id": str(run_id), **asdict(delta)}
        case ProgressUpdate(run_id, said):
            return {"type": "progress", "run_id": str(run_id), **asdict(said)}
