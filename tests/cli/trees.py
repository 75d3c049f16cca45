"""A small run tree, built from updates as `follow` yields them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from agents.journal import events
from agents.live.updates import DeltaUpdate, EventUpdate, RunUpdate, Update
from agents.llm.messages import AssistantMessage, ToolCall, Usage
from agents.models import Run
from agents.runs.live_entries import Delta
from heartbit_site.cli.views.tree import Tree

ROOT, ONE, TWO = UUID(int=1), UUID(int=2), UUID(int=3)
START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class Builder:
    """Applies updates to a tree and counts sequence numbers."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.updates: list[Update] = []
        self._seqs: dict[UUID, int] = {}

    def seen(self, run_id: UUID, agent: str, parent: UUID | None = None, task: str = "Do") -> None:
        self.apply(RunUpdate(Run(pk=run_id, parent_id=parent, agent=agent, task=task)))

    def event(self, run_id: UUID, event: events.Event, at: float = 0.0) -> None:
        self._seqs[run_id] = self._seqs.get(run_id, 0) + 1
        recorded = events.RecordedEvent(self._seqs[run_id], START + timedelta(seconds=at), event)
        self.apply(EventUpdate(run_id, recorded))

    def delta(self, run_id: UUID, text: str, *, attempt: int = 1001, offset: int = 0) -> None:
        turn = self.tree.runs[run_id].turn + 1
        self.apply(DeltaUpdate(run_id, Delta(turn, attempt, offset, text)))

    def apply(self, update: Update) -> None:
        self.updates.append(update)
        self.tree.apply(update)


def started() -> events.RunStarted:
    return events.RunStarted("host:1", "task-1", "openai:test")


def answered(turn: int, *calls: tuple[str, str], tokens: int = 5) -> events.ModelAnswered:
    made = tuple(ToolCall(f"c{i}", name, arguments) for i, (name, arguments) in enumerate(calls))
    message = AssistantMessage(text="" if calls else "Done.", tool_calls=made)
    usage = Usage(input_tokens=10, output_tokens=tokens)
    return events.ModelAnswered(turn, message, usage, "stop", "test", duration_ms=1200)


def delegation() -> Builder:
    """An orchestrator that waits for a researcher, who calculates, and a writer, who has ended."""
    build = Builder()
    tasks = '{"tasks": [{"agent": "researcher", "task": "a"}, {"agent": "writer", "task": "b"}]}'
    build.seen(ROOT, "orchestrator")
    build.event(ROOT, events.RunCreated("Do", "orchestrator"))
    build.event(ROOT, started())
    build.event(ROOT, answered(1, ("delegate_task", tasks)), 2)
    build.event(ROOT, events.CallWaiting("1.0", ("child:1", "child:2"), runs=("1", "2")), 2)
    build.seen(ONE, "researcher", ROOT, "Find the facts")
    build.event(ONE, started(), 2)
    build.event(ONE, answered(1, ("calculate", '{"expression": "6*7"}')), 3)
    build.seen(TWO, "writer", ROOT, "Write it up")
    build.event(TWO, started(), 2)
    build.event(TWO, answered(1), 4)
    build.event(TWO, events.RunSucceeded("Done."), 4)
    build.event(ROOT, events.WaitResolved("child:2", {"status": "succeeded"}), 4)
    return build
