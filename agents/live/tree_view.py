"""A run tree as people see it: the view of each of its runs. Pure.

tree = Tree()
async for update in follow(root_id, source):
    changed = tree.apply(update)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.live.updates import DeltaUpdate, EventUpdate, RunUpdate, Update
from agents.live.view import RunView

if TYPE_CHECKING:
    from uuid import UUID

    from agents.live.timeline import Parts


class TreeView:
    """The runs of one tree, in the order in which they were first seen: parents before children."""

    def __init__(self) -> None:
        self.runs: dict[UUID, RunView] = {}

    def apply(self, update: Update) -> Parts | None:
        """Take in an update; None if it was known, else the parts of its run that it changed."""
        match update:
            case RunUpdate(run) if run.pk not in self.runs:
                self.runs[run.pk] = RunView(run.pk, run.parent_id, run.agent, run.task)
                return {}
            case RunUpdate():
                return None  # what changed in its row is in its events
            case EventUpdate(run_id, recorded):
                return self.runs[run_id].fold(recorded)
            case DeltaUpdate(run_id, delta):
                return self.runs[run_id].stream(delta)
