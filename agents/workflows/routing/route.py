"""Routing of a graph: from finished activations to the next ones, once a superstep has ended.

The model is Pregel's (Malewicz et al., 2010): nodes run side by side, messages are delivered at a
barrier, and results are merged in a declared order, never in that of completion. Conditions are
evaluated here alone, and the commit has what they decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from agents.workflows.contents import Contents, RunData
from agents.workflows.expressions.errors import cut
from agents.workflows.graph import Graph
from agents.workflows.records import INPUT, NodeError, NodeMessage, RunOutput
from agents.workflows.routing.deliveries import deliver
from agents.workflows.routing.draft import Draft, new_draft
from agents.workflows.routing.edges import route_visit
from agents.workflows.routing.fan_ins import fire_fan_ins
from agents.workflows.routing.outcome import (
    MOST_SHOWN,
    GraphFailed,
    GraphSucceeded,
    Routed,
    RoutingError,
    TooLongError,
)
from agents.workflows.routing.writes import initial_writes, merge_writes
from agents.workflows.state import GraphState, Visit

#: Errors in the sentence about a run that failed, and characters of each.
MOST_ERRORS: Final = 100
MOST_CHARACTERS: Final = 500


def is_due(graph: Graph, state: GraphState) -> bool:
    """Return True if ``route`` returns a commit, or the end of the run."""
    if not (state.is_started and state.visits):
        return True
    try:
        return bool(_due(graph, state))
    except RoutingError:
        return True


def route(
    graph: Graph, state: GraphState, data: RunData, *, seconds: float | None = None
) -> Routed | None:
    """Return the commit of the superstep, or the end of the run.

    Args:
        graph: The graph.
        state: State of its run; it is not changed.
        data: Input and artifacts of the run.
        seconds: Processor time that it may take; None: so much that the run fails after it.

    Returns:
        None while activations that hold the barrier, or questions, are open.

    Raises:
        TooLongError: It takes longer than the seconds.
    """
    draft = partial(new_draft, graph, state, data, merge=merge_writes, seconds=seconds)
    try:
        if not state.is_started:
            return _begin(draft(()))
        if not state.visits:  # the last commit was journaled, and the run did not end with it
            return Routed(None, _ending(draft(())))
        done = _due(graph, state)
        return _commit(draft(done)) if done else None
    except RoutingError as error:
        if seconds is not None and isinstance(error, TooLongError):
            raise
        return Routed(None, error.failure)


def _begin(draft: Draft) -> Routed:
    """Deliver the run's input to the nodes at which the graph starts."""
    draft.writes = initial_writes(draft.graph)
    draft.values.update((write.key, write.value) for write in draft.writes)
    for name in draft.graph.spec.start:
        problem = deliver(draft, name, NodeMessage(call=INPUT))
        if problem:
            raise RoutingError(
                f'The node "{name}" does not accept the input: {problem}.', node=name
            )
    return _commit(draft)


def _due(graph: Graph, state: GraphState) -> list[Visit]:
    """Return the activations to be routed, in the order of their merge; none: wait.

    Raises:
        RoutingError: An activation failed, and its errors end the run.
    """
    visits = state.open_visits()
    is_held = any(visit.open and visit.activation.holds_barrier for visit in visits)
    failed = [
        visit
        for visit in visits
        if graph.nodes[visit.activation.node].spec.on_error == "fail" and visit.errors
    ]
    if failed:
        if graph.spec.failure == "finish" and is_held:
            return []
        raise _failure(failed)
    if graph.spec.order == "barrier" and is_held:
        return []
    return [visit for visit in visits if visit.is_complete]


def _failure(failed: list[Visit]) -> RoutingError:
    """Return the error of a run whose nodes failed, with each node and each entry."""
    message = _sentence((visit.activation.node, visit.errors) for visit in failed)
    return RoutingError(message, node=failed[0].activation.node)


def _sentence(failed: Iterable[tuple[str, Iterable[NodeError]]]) -> str:
    """Return a sentence with each node that failed, each entry and each error."""
    sentences = []
    for node, errors in failed:
        for error in errors:
            entry = "" if error.item is None else f" (entry {error.item})"
            message = cut(error.message, MOST_CHARACTERS)
            sentences.append(f'the node "{node}"{entry} failed: {message}')
    if len(sentences) > MOST_ERRORS:
        sentences[MOST_ERRORS:] = [f"and {len(sentences) - MOST_ERRORS:,} more"]
    sentence = "; ".join(sentences)
    return sentence[:1].upper() + sentence[1:]


def _commit(draft: Draft) -> Routed:
    for visit in draft.done:
        route_visit(draft, visit)
    buffers = fire_fan_ins(draft)
    _check_limits(draft)
    commit = draft.committed()
    ended = {*commit.finished, *draft.cancelled}
    is_open = bool(draft.deliveries or buffers or draft.state.visits.keys() - ended)
    return Routed(commit, None if is_open else _ending(draft))


def _check_limits(draft: Draft) -> None:
    """Reject a superstep beyond the limits of the run.

    Raises:
        RoutingError: A limit is reached.
    """
    limits = draft.graph.spec.limits
    calls = sum(delivery.count for delivery in draft.deliveries)
    nodes = dict.fromkeys(delivery.node for delivery in draft.deliveries)
    names = ", ".join([*nodes][:MOST_SHOWN])
    reached = {
        "supersteps": (draft.state.commits, limits.supersteps, bool(draft.deliveries)),
        "activations": (draft.state.activated + calls - 1, limits.activations, calls > 0),
    }
    for name, (used, most, is_next) in reached.items():
        if is_next and used >= most:
            raise RoutingError(
                f"The run has reached its limit of {most:,} {name}, and continues with {names}: "
                f"add a condition that ends it, or raise limits.{name}.",
                node=draft.deliveries[0].node,
                limit=name,
            )


def _ending(draft: Draft) -> GraphSucceeded | GraphFailed:
    graph = draft.graph
    if graph.output is not None:
        output = draft.evaluate(graph.output, NodeMessage(call=INPUT))
        return GraphSucceeded(output, _left_out(draft))
    yields = [*draft.state.yields, *draft.yields]
    if graph.spec.order == "ready":
        yields.sort(key=lambda one: graph.nodes[one.node].index)
    if yields:
        return GraphSucceeded(_output(draft.contents, yields), _left_out(draft))
    if draft.state.skipped or draft.skipped:
        # What was left was skipped, as its condition says.
        return GraphSucceeded(None, _left_out(draft))
    reasons = "; ".join(
        f'"{one.source}" to "{one.target}": {cut(one.reason)}' for one in draft.dropped[:MOST_SHOWN]
    )
    node = draft.done[-1].activation.node if draft.done else ""
    where = f' after the node "{node}"' if node else ""
    return GraphFailed(
        f"The run ended{where} without an output ({reasons or 'no message was sent'}): add an "
        "edge, a default or an end.",
        node=node,
    )


def _left_out(draft: Draft) -> str:
    """Return a sentence on the nodes that failed at last, and without which the run continued."""
    last = draft.state.last | {one.activation.node: one.activation.id for one in draft.done}
    return _sentence(
        (name, draft.contents.visit(last[name]).errors)
        for name, node in draft.graph.nodes.items()
        if name in last and node.spec.on_error == "continue"
    )


def output_so_far(state: GraphState, data: RunData) -> object:
    """Return the output that a run has produced before it fails; None: none."""
    return _output(Contents(state, data), state.yields) if state.yields else None


def _output(contents: Contents, yields: Sequence[RunOutput]) -> object:
    found = [contents.of(one.message) for one in yields]
    return found[0] if len(found) == 1 else found
