"""A run tree for a terminal: the order of its lines, and what each run is doing in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agents.live import tree_view

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from agents.live.view import RunView

QUIET: Final = "the model"  # what a running run without an open call waits for


class Tree(tree_view.Tree):
    """The runs of one tree, parents before children, siblings by age."""

    @property
    def root(self) -> RunView | None:
        """The run that was asked for, once it has been seen."""
        return next(iter(self.runs.values()), None)

    def children(self, run_id: UUID) -> list[RunView]:
        """The runs that a run has delegated to, oldest first."""
        return [run for run in self.runs.values() if run.parent_id == run_id]

    def walk(self) -> Iterator[tuple[tuple[bool, ...], RunView]]:
        """Every run below its parent. With it, for each level, whether it is the last there."""
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
        """What a run is doing now, in a few words; why, when a sub-agent has failed."""
        if run.over:
            return run.problem if run.parent_id else ""  # the root's is said below the tree
        if run.cancelling:
            return "is being cancelled"
        match run.status:
            case "queued":
                return "queued again" if run.started_at else "queued"
            case "waiting":
                return self._waiting_for(run)
        tools = sorted({call.tool for call in run.open_calls})
        if tools:
            return f"runs {', '.join(tools)}"
        if run.text:
            return "thinks" if run.kind == "thinking" else "writes"
        return f"asks {QUIET}"

    def _waiting_for(self, run: RunView) -> str:
        asked = [call.tool for call in run.calls.values() if call.asked]
        if asked:
            return f"waits until a person decides about {', '.join(asked)}"
        doubts = [call.tool for call in run.calls.values() if call.doubt]
        if doubts:
            return f"waits for a word on {', '.join(doubts)}"
        if run.pause is not None:
            reason, until = run.pause
            return f"is paused until {until.astimezone():%H:%M:%S}: {reason}"
        children = self.children(run.run_id)
        at_work = [child.agent for child in children if not child.over]
        if not at_work:
            return "waits"
        if len(at_work) > 2:
            return f"waits for {len(at_work)} sub-agents"
        return f"waits for {', '.join(at_work)}"
