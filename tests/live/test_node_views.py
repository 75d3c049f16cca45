"""States of a workflow's nodes in the view of its run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from agents.journal import events
from agents.journal.waits import QUESTION
from agents.live.workflow_view import WorkflowView
from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.records import Activation, NodeError, NodeMessage

if TYPE_CHECKING:
    from agents.journal.events import Event
    from agents.live.view_parts import Parts

AT = datetime(2026, 1, 1, tzinfo=UTC)
INPUT = NodeMessage("input")


def parts_after(*journal: Event) -> list[Parts]:
    """The parts of the nodes that each event changed; together they are the view's."""
    view = WorkflowView(uuid4(), None, "w", "task")
    found: list[Parts] = []
    for seq, event in enumerate(journal, 1):
        changed = view.fold(events.RecordedEvent(seq, AT, event)) or {}
        found.append({k: part for k, part in changed.items() if k.startswith("node ")})
    whole: Parts = {}
    for one in found:
        whole |= one
    assert {k: v for k, v in view.snapshot().items() if k.startswith("node ")} == whole
    return found


def begun(step: int, *nodes: str, skipped: tuple[str, ...] = ()) -> GraphCommitted:
    activations = [Activation(f"{step}.{i}", node, INPUT) for i, node in enumerate(nodes)]
    return GraphCommitted(step, skipped=skipped, next=tuple(activations))


def part(state: str, visits: int = 1, retries: int = 0) -> Parts:
    return {"state": state, "visits": visits, "retries": retries}


FAILED = NodeError("ValueError", "no")


def test_a_node_waits_runs_is_repeated_and_ends() -> None:
    assert parts_after(
        begun(0, "a", skipped=("b",)),
        events.ToolStarted("0.0", "pure"),
        NodeFinished("0.0", "a", error=FAILED, status="error", will_retry=True),
        NodeFinished("0.0", "a"),
        begun(1, "a"),
        NodeFinished("1.0", "a", error=FAILED, status="error"),
    ) == [
        {"node a": part("waiting"), "node b": part("skipped", 0)},
        {"node a": part("running")},
        {"node a": part("waiting", retries=1)},
        {"node a": part("done", retries=1)},
        {"node a": part("waiting", 2, 1)},
        {"node a": part("failed", 2, 1)},
    ]


def test_a_node_with_a_child_runs_and_one_with_a_question_asks() -> None:
    assert parts_after(
        begun(0, "a", "b"),
        events.CallWaiting("0.0", ("k",), "child", (str(uuid4()),)),
        events.CallWaiting("0.1", ("q",), QUESTION.name, question="Well?"),
        events.RunCancelled(),
    ) == [
        {"node a": part("waiting"), "node b": part("waiting")},
        {"node a": part("running")},
        {"node b": part("asks")},
        {"node a": part("cancelled"), "node b": part("cancelled")},
    ]


def test_an_entry_that_failed_fails_the_whole_visit() -> None:
    each = Activation("0.0", "a", INPUT, items=INPUT, count=3)
    assert parts_after(
        GraphCommitted(0, next=(each,)),
        NodeFinished("0.1", "a", error=FAILED, status="error"),
        NodeFinished("0.0", "a"),
        NodeFinished("0.2", "a"),
    )[-1] == {"node a": part("failed")}
