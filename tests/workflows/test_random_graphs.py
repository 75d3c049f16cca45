"""Properties of random graphs: the order in which calls complete changes nothing."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

from agents.workflows.events import NodeFinished
from agents.workflows.routing.outcome import GraphSucceeded
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.state import GraphState
from agents.workflows.validation.validate import find_faults
from tests.workflows import graphs
from tests.workflows.driver import Driver, Played, compiled, fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agents.workflows.graph import Graph
    from agents.workflows.state import OpenCall
    from tests.workflows.driver import Work

GRAPHS = 500
READY_GRAPHS = 3_000


def _played(graph: Graph, work: Work, seed: int) -> Played:
    order = Random(seed)  # noqa: S311  repeatable, not secret

    def shuffled(calls: list[OpenCall]) -> list[OpenCall]:
        return order.sample(calls, len(calls)) if seed else calls

    works = dict.fromkeys(graph.nodes, work)
    return Driver(graph, works, input=7, order=shuffled, is_stored=False).play()


def test_the_order_of_completion_changes_no_commit_and_no_buffer_is_left() -> None:
    succeeded = joined = cycles = 0
    for seed in range(GRAPHS):
        graph = compiled(graphs.any_graph(Random(seed)))  # noqa: S311  as above
        first = _played(graph, graphs.logged, 0)
        other = _played(graph, graphs.logged, seed + 1)
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
    assert min(succeeded, joined, cycles) > GRAPHS / 10


def _results(played: Played) -> list[Any]:
    """What each call returned, without its id, which depends on the order."""
    finished = [event for event in played.events if isinstance(event, NodeFinished)]
    return sorted((event.node, repr(event.output), repr(event.error)) for event in finished)


def test_ready_and_barrier_are_equal_where_validation_allows_ready() -> None:
    allowed, used, seed = 0, Counter[str](), 0
    while allowed < READY_GRAPHS:
        seed += 1
        settings = graphs.ready_graph(Random(seed))  # noqa: S311  as above
        spec = GraphSpec.model_validate({**settings, "order": "ready"})
        if find_faults(spec):
            continue
        allowed += 1
        graph = compiled(spec)
        barrier = _played(compiled({**settings, "order": "barrier"}), graphs.plain, 0)
        ready = _played(graph, graphs.plain, seed)
        assert type(ready.ending) is type(barrier.ending), seed
        if isinstance(barrier.ending, GraphSucceeded):
            assert _results(ready) == _results(barrier), seed
            assert _outputs(ready) == _outputs(barrier), seed
            assert ready.state.buffers == {}
            used.update(_used(barrier))
    assert seed > READY_GRAPHS * 1.1, "some are not allowed"
    assert min(used.values()) > READY_GRAPHS / 100, used


def _used(played: Played) -> Iterator[str]:
    """What a run has had, so that the comparison is known to compare it."""
    yield "success"
    if played.state.skipped:
        yield "skipped"
    if played.state.values:
        yield "written"
    if any(commit.fired for commit in played.commits):
        yield "joined"
    if any(one.items for commit in played.commits for one in commit.next):
        yield "entries"
    if any("mend" in one.node for commit in played.commits for one in commit.next):
        yield "mended"


def _outputs(played: Played) -> list[str]:
    assert isinstance(played.ending, GraphSucceeded), played.ending
    output = played.ending.output
    return sorted(map(repr, output if isinstance(output, list) else [output]))
