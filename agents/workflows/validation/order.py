"""Conditions for ``order = "ready"``: it must not change the result."""

from __future__ import annotations

from collections import defaultdict

from agents.workflows.graph import reachable
from agents.workflows.spec.edge import ARROW
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.values import RESERVED
from agents.workflows.validation.faults import FaultList
from agents.workflows.validation.paths import find_cycle, next_nodes, reversed_of
from agents.workflows.validation.references import uses_of

_REMEDY = 'change that, or write order = "barrier".'


def check_order(graph: GraphSpec, faults: FaultList) -> None:
    """Add faults of a graph whose result would depend on which node is the quickest."""
    if graph.order != "ready":
        return
    after = next_nodes(graph)
    cycle = find_cycle(after)
    if cycle:
        faults.add(
            ("order",),
            f'The nodes {ARROW.join(cycle)} wait for each other, and order = "ready" needs a graph '
            f"without cycles: {_REMEDY}",
        )
    _check_groups(graph, faults)
    for index, edge in enumerate(graph.edges):
        if edge.wait != "all":
            faults.add(
                ("edges", index, "wait"),
                f'The edge {edge.text} does not wait for all its sources, and with order = "ready" '
                f"the quickest would decide: {_REMEDY}",
            )
    _check_reads(graph, reversed_of(after), faults)


def _check_groups(graph: GraphSpec, faults: FaultList) -> None:
    """Add faults of nodes that are sent messages in more than one way."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in graph.start:
        groups[name].append("the start")
    for edge in graph.edges:
        for target in edge.targets:
            groups[target].append(f"the edge {edge.text}")
    for node in graph.nodes:
        if node.on_error not in RESERVED:
            groups[node.on_error].append(f'the errors of "{node.name}"')
    for index, node in enumerate(graph.nodes):
        ways = groups[node.name]
        if len(ways) > 1:
            faults.add(
                ("nodes", index),
                f'The node "{node.name}" is sent messages by {" and ".join(ways)}, and order = '
                f'"ready" needs one of them, such as a fan-in: {_REMEDY}',
            )


def _check_reads(graph: GraphSpec, before: dict[str, set[str]], faults: FaultList) -> None:
    """Add faults of expressions that read a node, or a key, which may not be finished yet."""
    writers = defaultdict(list)
    for node in graph.nodes:
        for key in node.set or {}:
            writers[key].append(node.name)
    for key, names in writers.items():
        if len(names) > 1:
            named = " and ".join(f'"{name}"' for name in names)
            faults.add(
                ("state", key),
                f'The nodes {named} write the key "{key}", and order = "ready" allows one writer: '
                f"{_REMEDY}",
            )
    for use in uses_of(graph):
        if not use.node:
            continue
        earlier = reachable([use.node], before) - ({use.node} if not use.is_edge else set())
        for path in sorted(use.references, key=str):
            reads = _read_nodes(path, writers)
            for name in [name for name in reads if name not in earlier]:
                faults.add(
                    use.place,
                    f'{use.subject} reads what the node "{name}" produces, which may not have '
                    f'ended then with order = "ready": let it need that node, or {_REMEDY}',
                )


def _read_nodes(path: tuple[str | int, ...], writers: dict[str, list[str]]) -> list[str]:
    match path:
        case ("steps", str(name), *_):
            return [name]
        case ("state", str(key), *_):
            return writers.get(key, [])
    return []
