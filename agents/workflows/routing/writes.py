"""Merge of the writes of a superstep, in the order of its activations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agents.workflows.graph import Graph
from agents.workflows.records import Write
from agents.workflows.routing.outcome import RoutingError
from agents.workflows.state import GraphState, Visit
from agents.workflows.state_values import MergeError, StateValues


def initial_writes(graph: Graph) -> list[Write]:
    """Return the writes that set the state's keys to their initial values."""
    return [
        Write(key, "set", spec.initial)
        for key, spec in graph.spec.state.items()
        if spec.initial is not None
    ]


def merge_writes(graph: Graph, state: GraphState, done: Sequence[Visit]) -> dict[str, Any]:
    """Return the values of the state after the writes of finished activations.

    Raises:
        RoutingError: Two calls set the same key, a write does not fit, or the state is too large.
    """
    merging = StateValues(dict(state.values), dict(state.sizes))
    setters: dict[str, tuple[str, str]] = {}
    for visit in done:
        node = visit.activation.node
        for result in visit.finished:
            for write in result.writes:
                _check(graph, write, node)
                if write.merge == "set":
                    _claim(setters, write.key, node, result.call_id)
                _merge(merging, write, node)
    most = graph.spec.limits.state_bytes
    if merging.sizes != state.sizes and sum(merging.sizes.values()) > most:
        raise RoutingError(
            f"The state has more than {most:,} bytes: write less, or raise limits.state_bytes.",
            limit="state_bytes",
        )
    return merging.values


def _check(graph: Graph, write: Write, node: str) -> None:
    declared = graph.spec.state.get(write.key)
    if graph.spec.order == "ready" and graph.nodes[node].spec.set is None:
        raise RoutingError(
            f'The node "{node}" writes the key "{write.key}" of the state, and with order = '
            '"ready" only nodes with set may: return the value, or write order = "barrier".',
            node=node,
        )
    if declared is None or declared.merge != write.merge:
        known = ", ".join(graph.spec.state) or "none"
        how = "is not declared" if declared is None else f"is merged by {declared.merge}"
        raise RoutingError(
            f'The node "{node}" writes the state\'s key "{write.key}" by {write.merge}, which '
            f"{how}: declare it in state; declared are {known}.",
            node=node,
        )


def _claim(setters: dict[str, tuple[str, str]], key: str, node: str, call_id: str) -> None:
    """Reject a second call that sets a key: the order of calls must not matter."""
    other, other_call = setters.setdefault(key, (node, call_id))
    if other_call != call_id:
        raise RoutingError(
            f'The nodes "{other}" and "{node}" set the state\'s key "{key}" in one superstep: '
            "declare another merge, or put one node after the other.",
            node=node,
        )


def _merge(values: StateValues, write: Write, node: str) -> None:
    try:
        values.write(write)
    except MergeError as error:
        raise RoutingError(f'The node "{node}" fails: {error}', node=node) from None
