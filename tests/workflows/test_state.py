"""The state of a workflow's run: its calls, and what it keeps."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from agents.journal.events import (
    CallWaiting,
    Event,
    RecordedEvent,
    RunForked,
    ToolStarted,
    WaitResolved,
)
from agents.loop.workflow.state import WorkflowState
from agents.workflows.contents import RunData
from agents.workflows.events import GraphCommitted, NodeFinished
from agents.workflows.misfits import find_misfits
from agents.workflows.records import Activation, NodeError, NodeMessage
from agents.workflows.routing.route import route
from agents.workflows.state import GraphState
from tests.workflows.driver import Driver, compiled, functions, play

NOW = datetime(2026, 11, 29, tzinfo=UTC)
START = GraphCommitted(
    0,
    next=(
        Activation("0.0", "a", NodeMessage("input")),
        Activation("0.1", "b", NodeMessage("input"), items=NodeMessage("input"), count=2),
    ),
)


def folded(*happened: Event) -> WorkflowState:
    state = WorkflowState()
    for seq, event in enumerate(happened, start=1):
        state.fold(RecordedEvent(seq, NOW, event))
    return state


def test_a_commit_opens_the_calls_of_its_activations() -> None:
    state = folded(START, ToolStarted("0.2", "at_most_once"))
    assert list(state.calls) == ["0.0", "0.1", "0.2"]
    assert state.calls["0.2"].started == "at_most_once"
    assert state.calls["0.2"].call.name == "0.2"
    assert [call.item for call in state.graph.open_calls()] == [None, 0, 1]
    assert state.step == 1


def test_a_result_closes_its_call_and_drops_its_waits() -> None:
    waited = (
        CallWaiting("0.0", ("child:1",), runs=("1",)),
        WaitResolved("child:1", {"status": "succeeded"}, "child", "0.0"),
    )
    state = folded(START, *waited)
    assert "child:1" in state.resolved
    state = folded(START, *waited, NodeFinished("0.0", "a", output=1))
    assert "0.0" not in state.calls
    assert state.resolved == {}


def test_a_retry_begins_without_the_intent_of_the_attempt_before_it() -> None:
    error = NodeError("ValueError", "no")
    failed = NodeFinished("0.0", "a", "error", error=error, will_retry=True)
    state = folded(START, ToolStarted("0.0", "idempotent"), failed)
    assert state.calls["0.0"].started == ""
    [call, *_] = state.graph.open_calls()
    assert call.previous_errors == (error,)
    assert call.attempt == 2


def test_a_cancelled_activation_has_no_calls() -> None:
    committed = GraphCommitted(1, cancelled=("0.1", "0.2"))
    state = folded(START, committed, NodeFinished("0.1", "b", output=1))
    assert list(state.calls) == ["0.0"]
    assert list(state.graph.visits) == ["0.0"]


def test_the_state_does_not_grow_with_the_supersteps() -> None:
    graph = {
        "nodes": functions("a", "b"),
        "start": "a",
        "edges": [
            {"from": "a", "to": "b"},
            {"from": "b", "cases": [{"when": "steps.b.visits < 50", "to": "a"}]},
            {"from": "b", "when": "steps.b.visits == 50", "output": "done"},
        ],
    }
    played = play(graph, input="x" * 1000)
    assert played.output == "done"
    assert set(played.state.produced) == set(played.state.last.values())
    assert played.state.visits == {}
    assert played.state.calls == {}


def test_a_fork_may_edit_the_state() -> None:
    forked = RunForked("0199", 1, 0, {"state": {"n": 7}})
    assert folded(START, forked).graph.values == {"n": 7}


LINE: dict[str, Any] = {
    "nodes": functions("a", "b", "c") | {"q": {"ask": "?"}},
    "start": ["a", "q"],
    "state": {"n": {"merge": "add", "initial": 1}},
    "edges": [{"from": ["a", "q"], "to": "b"}, {"from": "b", "to": "c"}],
}


def test_a_run_that_ended_without_saying_so_ends_again() -> None:
    played = play(LINE | {"start": "a"}, input=1)
    routed = route(compiled(LINE), played.state, RunData(1))
    assert routed is not None
    assert (routed.commit, routed.ending) == (None, played.ending)


def test_a_move_to_a_version_that_does_not_fit_is_refused_with_names() -> None:
    """Conformance case 14, the part without a database."""
    driver = Driver(LINE, input=1)
    state = driver.play().state
    other = compiled({**LINE, "edges": [*LINE["edges"], {"from": "c", "output": 1}]})
    assert find_misfits(driver.graph, other, state) == []
    other = compiled(
        {
            "nodes": functions("a", "b", "c"),
            "start": ["a"],
            "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}],
        }
    )
    assert find_misfits(driver.graph, other, state) == [
        'The node "q" is open in the run, and the other version has no such node.',
        "The fan-in a, q → b holds messages of the run, and the other version does not have it as "
        "its edge of the same position.",
        'The key "n" of the state has a value, and the other version has no such key.',
    ]
    changed = LINE | {"nodes": functions("a", "b", "c", "q"), "state": {"n": {"merge": "max"}}}
    assert find_misfits(driver.graph, compiled(changed), state) == [
        'The node "q" is open in the run, and is of another kind in the other version.',
        'The key "n" of the state is merged in another way in the other version.',
    ]


def test_the_order_of_merge_survives_a_checkpoint_that_keeps_no_order_of_keys() -> None:
    names = ("9.10", "10.9", "9.2", "10.10")
    state = GraphState()
    for name in names:
        state.commit(GraphCommitted(0, next=(Activation(name, "a", NodeMessage("input")),)))
    adapter = TypeAdapter(GraphState)
    restored = adapter.validate_json(adapter.dump_json(state))
    expected = ["9.2", "9.10", "10.9", "10.10"]
    assert [call.call_id for call in restored.open_calls()] == expected
    assert [visit.activation.id for visit in restored.open_visits()] == expected
