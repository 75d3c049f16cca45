"""Views of the runs of a tree. Pure.

Usage::

    tree = TreeView()
    async for update in follow(root_id, source):
        changed = tree.apply(update)
"""

from __future__ import annotations

from uuid import UUID

from agents.definitions.kinds import part_of
from agents.live.updates import DeltaUpdate, EventUpdate, ProgressUpdate, RunUpdate, Update
from agents.live.view import RunView
from agents.live.view_parts import Parts


class TreeView:
    """Views of the runs of one tree, in the order of first sight: parents before children."""

    def __init__(self) -> None:
        self.runs: dict[UUID, RunView] = {}

    def apply(self, update: Update) -> Parts | None:
        """Apply an update; return the changed parts of its run, or None if it was known."""
        match update:
            case RunUpdate(run) if run.pk not in self.runs:
                view: type[RunView] = part_of(run.kind, "view")
                self.runs[run.pk] = view(run.pk, run.parent_id, run.agent, run.task)
                return {}
            case RunUpdate():
                return None  # the run's events carry the changes of its row
            case EventUpdate(run_id, recorded):
                return self.runs[run_id].fold(recorded)
            case DeltaUpdate(run_id, delta):
                return self.runs[run_id].stream(delta)
            case ProgressUpdate(run_id, progress):
                return self.runs[run_id].progress(progress)
