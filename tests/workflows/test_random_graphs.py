"""Properties of random graphs: the order in which calls complete changes nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from agents.workflows.events import NodeFinished
from agents.workflows.routing.outcome import GraphSucceeded
from agents.workflows.state import GraphState
from tests.workflows import graphs
from tests.workflows.driver import Driver, Played, fold

if TYPE_CHECKING:
    from agents.workflows.state import OpenCall

GRAPHS = 500
READY_GRAPHS = 3_000


def _played(graph: dict[str, Any], work: Any, seed: int, given: Any = 7) -> Played:
    order = random.Random(seed)

    def shuffled(calls: list[OpenCall]) -> list[OpenCall]:
        return order.sample(calls, len(calls)) if seed else calls

    return Driver(graph, dict.fromkeys(graph["nodes"], work), input=given, order=shuffled).play()


def test_the_order_of_completion_changes_no_commit_and_no_buffer_is_left() -> None:
    succeeded = joined = cycles = 0
    for seed in range(GRAPHS):
        graph = graphs.any_graph(random.Random(seed))
        first = _played(graph, graphs.logged, 0)
        for order in (1, 2):
            other = _played(graph, graphs.logged, order)
            assert other.commits == first.commits, seed
            assert other.ending == first.ending, seed
        joined += any(commit.fired for commit in first.commits)
        cycles += len(first.commits) > 10
        if isinstance(first.ending, GraphSucceeded):
            succeeded += 1
            assert first.state.buffers == {}, seed
            assert first.state.visits == {}, seed
            assert first.state.calls == {}, seed
        assert fold(GraphState(), first.events) == first.state
    assert (succeeded > 50, joined > 200, cycles > 50) == (True, True, True), (
        succeeded,
        joined,
        cycles,
    )


def _results(played: Played) -> list[Any]:
    """What each call returned, without its id, which depends on the order."""
    finished = [event for event in played.events if isinstance(event, NodeFinished)]
    return sorted((event.node, repr(event.output), repr(event.error)) for event in finished)


def test_ready_and_barrier_are_equal_where_ready_is_allowed() -> None:
    skipped = failed = 0
    for seed in range(READY_GRAPHS):
        graph = graphs.ready_graph(random.Random(seed))
        barrier = _played({**graph, "order": "barrier"}, graphs.plain, 0)
        if not isinstance(barrier.ending, GraphSucceeded):
            failed += 1
            continue
        skipped += bool(barrier.state.skipped)
        for order in (0, 1, 2):
            ready = _played({**graph, "order": "ready"}, graphs.plain, order)
            assert _results(ready) == _results(barrier), seed
            assert _outputs(ready) == _outputs(barrier), seed
            assert ready.state.buffers == {}
    assert (skipped > 100, failed < READY_GRAPHS / 2) == (True, True), (skipped, failed)


def _outputs(played: Played) -> list[str]:
    assert isinstance(played.ending, GraphSucceeded), played.ending
    output = played.ending.output
    return sorted(map(repr, output if isinstance(output, list) else [output]))
