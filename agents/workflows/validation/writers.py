"""Keys of the state that nodes set: undeclared ones, and those that two nodes set at one time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.validation.faults import FaultList


def check_writers(graph: GraphSpec, faults: FaultList) -> None:
    """Add faults of keys that are not declared, or that two nodes set at the same time."""
    places = {node.name: index for index, node in enumerate(graph.nodes)}
    set_keys = {node.name: _set_keys(graph, node) for node in graph.nodes}
    for index, node in enumerate(graph.nodes):
        add = faults.about(f'The node "{node.name}" sets the', "nodes", index, "set")
        for key in node.set or {}:
            if key not in graph.state:
                add(f'undeclared key "{key}": declare it in state.')
        for key in set_keys[node.name] if node.each else ():
            remedy = "declare another merge, such as append."
            add(f'key "{key}" for each entry of a list: {remedy}')
    for group in _together(graph):
        setters: dict[str, str] = {}
        for name in sorted(group & places.keys(), key=places.__getitem__):
            for key in set_keys[name]:
                other = setters.setdefault(key, name)
                if other != name:
                    add = faults.about(f'The nodes "{other}" and "{name}"', "nodes", places[name])
                    remedy = "declare another merge, or put one node after the other."
                    add(f'set the key "{key}" in one superstep: {remedy}', "set")


def _set_keys(graph: GraphSpec, node: NodeSpec) -> list[str]:
    keys = node.set or {}
    return [key for key in keys if key in graph.state and graph.state[key].merge == "set"]


def _together(graph: GraphSpec) -> Iterator[set[str]]:
    """Yield nodes that run in one superstep: those of the start, and those after each node.

    Others that may meet are found when they do (``agents.workflows.routing.writes``).
    """
    certain = {node.name for node in graph.nodes if not node.when}
    after: dict[str, set[str]] = defaultdict(set)
    for edge in graph.edges:
        if edge.kind in ("direct", "fan_out") and not edge.when and not edge.select:
            after[edge.sources[0]].update(certain.intersection(edge.targets))
    yield certain.intersection(graph.start)
    for node in graph.nodes:
        if node.on_error == "fail":
            yield after[node.name]
