"""Moves of a run to another version of its graph: everything of the run that does not fit it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from agents.workflows.graph import Graph
from agents.workflows.state import GraphState


def find_misfits(current: Graph, other: Graph, state: GraphState) -> list[str]:
    """Return why a run cannot continue with another graph; empty: it can.

    Args:
        current: Graph of the run.
        other: Graph that it is to continue with.
        state: State of the run.
    """
    found = (_nodes(other, state), _fan_ins(current, other, state), _keys(current, other, state))
    return list(dict.fromkeys(chain(*found)))


def _nodes(other: Graph, state: GraphState) -> Iterator[str]:
    for activation in (visit.activation for visit in state.open_visits()):
        name, role = activation.node, activation.role
        node = other.nodes.get(name)
        if node is None:
            yield f'The node "{name}" is open in the run, and the other version has no such node.'
        elif role != "reply" and node.spec.is_wait != (role == "wait"):
            kind = "of another kind in the other version."
            yield f'The node "{name}" is open in the run, and is {kind}'


def _fan_ins(current: Graph, other: Graph, state: GraphState) -> Iterator[str]:
    """Yield fan-ins that hold messages; the state knows them by the position of their edge."""
    for index in sorted({*state.buffers, *state.late}):
        edge = current.edges[index]
        others = other.edges[index] if index < len(other.edges) else None
        if others is None or (others.sources, others.targets) != (edge.sources, edge.targets):
            yield (
                f"The fan-in {edge.text} holds messages of the run, and the other version does not "
                "have it as its edge of the same position."
            )


def _keys(current: Graph, other: Graph, state: GraphState) -> Iterator[str]:
    for key in state.values:
        before, after = current.spec.state.get(key), other.spec.state.get(key)
        if after is None:
            yield (
                f'The key "{key}" of the state has a value, and the other version has no such key.'
            )
        elif before is not None and before.merge != after.merge:
            yield f'The key "{key}" of the state is merged in another way in the other version.'
