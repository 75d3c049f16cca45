"""Paths of a graph: nodes that nothing reaches, and nodes from which no path leads to an end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from agents.workflows.graph import reachable
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.values import RESERVED
from agents.workflows.validation.faults import FaultList

#: Pairs of nodes that edges connect.
MAX_PAIRS: Final = 50_000
#: Pairs times sources of fan-ins: the steps in which paths into fan-ins are followed.
MAX_STEPS: Final = 5_000_000


def next_nodes(graph: GraphSpec, *, with_errors: bool = True) -> dict[str, set[str]]:
    """Return the nodes that each node may send messages to.

    Args:
        graph: The graph.
        with_errors: True if the nodes that handle errors count, too.
    """
    after: dict[str, set[str]] = {node.name: set() for node in graph.nodes}
    for edge in graph.edges:
        for source in edge.sources:
            after.setdefault(source, set()).update(edge.targets)
    if with_errors:
        for node in graph.nodes:
            if node.on_error not in RESERVED:
                after[node.name].add(node.on_error)
    return after


def reversed_of(after: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the nodes before each node, given those after each."""
    before: dict[str, set[str]] = defaultdict(set)
    for name, following in after.items():
        for target in following:
            before[target].add(name)
    return before


def check_size(graph: GraphSpec, faults: FaultList) -> None:
    """Add a fault of a graph whose paths into fan-ins are too many to be followed."""
    pairs = sum(len(edge.sources) * max(1, len(edge.targets)) for edge in graph.edges)
    sources = sum(len(edge.sources) for edge in graph.edges if edge.kind == "fan_in")
    if pairs > MAX_PAIRS or pairs * sources > MAX_STEPS:
        faults.add(
            ("edges",),
            f"The graph connects {pairs:,} pairs of nodes, and its fan-ins have {sources:,} "
            "sources: move a part of it into a workflow of its own.",
        )


def check_paths(graph: GraphSpec, faults: FaultList) -> None:
    """Add faults of nodes that are never reached, or that never lead to an end."""
    reached = reachable(graph.start, next_nodes(graph))
    for index, node in enumerate(graph.nodes):
        if graph.start and node.name not in reached:
            faults.add(
                ("nodes", index),
                f'No path leads from the start to the node "{node.name}": add an edge to it, or '
                "remove it.",
            )
    after = next_nodes(graph, with_errors=False)
    leaving = {source for edge in graph.edges for source in edge.sources}
    ends = {source for edge in graph.edges if edge.kind == "end" for source in edge.sources}
    ends |= after.keys() - leaving
    leads_out = reachable(ends, reversed_of(after))
    stuck = [node.name for node in graph.nodes if node.name not in leads_out]
    if stuck:
        place = next(index for index, node in enumerate(graph.nodes) if node.name == stuck[0])
        named = ", ".join(f'"{name}"' for name in stuck)
        faults.add(
            ("nodes", place),
            f"No path leads from {named} to an end: add an edge with an output, or to a node "
            "without edges of its own.",
        )


def find_cycle(after: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the nodes of a cycle, the first one again at its end; empty: there is none."""
    finished: set[str] = set()
    for start in after:
        path: dict[str, None] = {}
        pending = [(start, False)]
        while pending:
            name, is_left = pending.pop()
            if is_left:
                del path[name]
                finished.add(name)
            elif name in path:
                names = list(path)
                return [*names[names.index(name) :], name]
            elif name not in finished:
                path[name] = None
                pending.append((name, True))
                pending += [(target, False) for target in sorted(after.get(name, ()))]
    return []
