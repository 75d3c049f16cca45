"""Paths of a graph: nodes that nothing reaches, and nodes from which no path leads to an end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Final

from agents.workflows.graph import (
    bits_of,
    find_ancestors,
    find_ends,
    has_own_paths,
    next_nodes,
    reversed_of,
)
from agents.workflows.spec.edge import listed
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.validation.faults import FaultList

_SPLIT: Final = "move a part of it into a workflow of its own."
#: Pairs of nodes that edges connect.
MAX_PAIRS: Final = 50_000
#: Pairs times fan-ins whose paths are followed for each alone.
MAX_STEPS: Final = 1_000_000


def check_size(graph: GraphSpec, faults: FaultList) -> None:
    """Add a fault of a graph whose paths are too many to be followed."""
    pairs = sum(len(edge.sources) * max(1, len(edge.targets)) for edge in graph.edges)
    add = faults.about(f"The graph connects {pairs:,} pairs of nodes, and", "edges")
    if pairs > MAX_PAIRS:
        add(f"{MAX_PAIRS:,} are accepted: {_SPLIT}")
    elif pairs * (fan_ins := _with_own_paths(graph)) > MAX_STEPS:
        of_fan_ins = "of its fan-ins lie on cycles or do not wait for all sources"
        add(f"{fan_ins:,} {of_fan_ins}: {_SPLIT}")


def _with_own_paths(graph: GraphSpec) -> int:
    """Return the number of fan-ins whose paths have to be found for each alone."""
    after = next_nodes(graph)
    bits, ancestors = bits_of(after), find_ancestors(after)
    fan_ins = [edge for edge in graph.edges if edge.kind == "fan_in"]
    return sum(has_own_paths(edge, bits, ancestors) for edge in fan_ins)


def check_paths(graph: GraphSpec, faults: FaultList) -> None:
    """Add faults of nodes that are never reached, or that never lead to an end."""
    reached = reachable(graph.start, next_nodes(graph))
    for index, node in enumerate(graph.nodes):
        if graph.start and node.name not in reached:
            add = faults.about("No path leads from the start to the node", "nodes", index)
            add(f'"{node.name}": add an edge to it, or remove it.')
    after = next_nodes(graph, with_errors=False)
    leads_out = reachable(find_ends(graph), reversed_of(after))
    stuck = [node.name for node in graph.nodes if node.name not in leads_out]
    if stuck:
        place = next(index for index, node in enumerate(graph.nodes) if node.name == stuck[0])
        named = listed([f'"{name}"' for name in stuck])
        remedy = "add an edge with an output, or to a node without edges of its own."
        faults.add(("nodes", place), f"No path leads from {named} to an end: {remedy}")


def reachable(start: Iterable[str], after: Mapping[str, Iterable[str]]) -> set[str]:
    """Return the nodes that can be reached, the start included.

    Args:
        start: Names of nodes.
        after: Names that follow a name.
    """
    found = set(start)
    pending = list(found)
    while pending:
        for name in after.get(pending.pop(), ()):
            if name not in found:
                found.add(name)
                pending.append(name)
    return found


def find_cycle(after: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the nodes of a cycle, the first one again at its end; empty: there is none."""
    sorter = TopologicalSorter[str]()
    for name, following in after.items():
        sorter.add(name)
        for target in sorted(following):
            sorter.add(target, name)
    try:
        sorter.prepare()
    except CycleError as error:
        return list(error.args[1])
    return []
