"""Nodes that certainly set one key of the state in one superstep."""

from __future__ import annotations

from collections.abc import Iterator

from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.validation.faults import FaultList


def check_writers(graph: GraphSpec, faults: FaultList) -> None:
    """Add faults of keys that are not declared, or that two nodes set at the same time."""
    nodes = {node.name: (index, node) for index, node in enumerate(graph.nodes)}
    for index, node in nodes.values():
        for key in node.set or {}:
            if key not in graph.state:
                faults.add(
                    ("nodes", index, "set"),
                    f'The node "{node.name}" sets the undeclared key "{key}": declare it in state.',
                )
        for key in _set_keys(graph, node) if node.each else ():
            faults.add(
                ("nodes", index, "set"),
                f'The node "{node.name}" sets the key "{key}" for each entry of a list: declare '
                "another merge, such as append.",
            )
    setting = [node.name for node in graph.nodes if _set_keys(graph, node)]
    for step in _certain_steps(graph) if len(setting) > 1 else ():
        setters: dict[str, str] = {}
        for name in [name for name in setting if name in step]:
            index, node = nodes[name]
            for key in _set_keys(graph, node):
                other = setters.setdefault(key, name)
                if other != name:
                    faults.add(
                        ("nodes", index, "set"),
                        f'The nodes "{other}" and "{name}" set the key "{key}" in one superstep: '
                        "declare another merge, or put one node after the other.",
                    )


def _set_keys(graph: GraphSpec, node: NodeSpec) -> list[str]:
    keys = node.set or {}
    return [key for key in keys if key in graph.state and graph.state[key].merge == "set"]


def _certain_steps(graph: GraphSpec) -> Iterator[frozenset[str]]:
    """Yield the nodes that certainly run in each superstep, until these repeat."""
    certain = {node.name for node in graph.nodes if not node.when}
    passing = {node.name for node in graph.nodes if node.on_error == "fail"}
    after: dict[str, set[str]] = {}
    for edge in graph.edges:
        is_certain = edge.kind in ("direct", "fan_out") and not edge.when and not edge.select
        if is_certain and edge.sources[0] in passing:
            after.setdefault(edge.sources[0], set()).update(certain & set(edge.targets))
    names, seen = frozenset(certain & set(graph.start)), set[frozenset[str]]()
    while names and names not in seen and len(seen) < len(graph.nodes):
        seen.add(names)
        yield names
        names = frozenset(target for name in names for target in after.get(name, ()))
