"""A run tree for a terminal: the order of its lines, and what each run is doing in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

from agents.live import tree_view
from agents.live.live_run import activity
from agents.live.view import RunView


class Tree(tree_view.TreeView):
    """The runs of one tree, parents before children, siblings by age."""

    @property
    def root(self) -> RunView | None:
        """The run that was asked for, once it has been seen."""
        return next(iter(self.runs.values()), None)

    def children(self, run_id: UUID) -> list[RunView]:
        """Return the runs that a run has delegated to, oldest first."""
        return [run for run in self.runs.values() if run.parent_id == run_id]

    def walk(self) -> Iterator[tuple[tuple[bool, ...], RunView]]:
        """Yield every run below its parent, with True for each level where it is the last."""
        if self.root is not None:
            yield from self._walk(self.root, ())

    def _walk(
        self, run: RunView, place: tuple[bool, ...]
    ) -> Iterator[tuple[tuple[bool, ...], RunView]]:
        yield place, run
        children = self.children(run.run_id)
        for child in children:
            yield from self._walk(child, (*place, child is children[-1]))

    def activity(self, run: RunView) -> str:
        """Return what a run is doing now; why, when a sub-agent has failed."""
        if run.over:
            return run.problem if run.parent_id else ""  # the root's is said below the tree
        return activity(run, run.kind if run.text else None, _local_time)


def _local_time(at: datetime) -> str:
    return f"{at.astimezone():%H:%M:%S}"
