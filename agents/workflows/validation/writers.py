"""Nodes that certainly set one key of the state in one superstep."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.validation.faults import FaultList

_SEVERAL: Final = 2
#: Nodes, edges and keys that are followed over all supersteps.
_MAX_WORK: Final = 50_000


def check_writers(graph: GraphSpec, faults: FaultList) -> None:
    """Add faults of keys that are not declared, or that two nodes set at the same time."""
    nodes = {node.name: (index, node) for index, node in enumerate(graph.nodes)}
    set_keys = {name: _set_keys(graph, node) for name, (_, node) in nodes.items()}
    for name, (index, node) in nodes.items():
        for key in node.set or {}:
            if key not in graph.state:
                faults.add(
                    ("nodes", index, "set"),
                    f'The node "{name}" sets the undeclared key "{key}": declare it in state.',
                )
        for key in set_keys[name] if node.each else ():
            faults.add(
                ("nodes", index, "set"),
                f'The node "{name}" sets the key "{key}" for each entry of a list: declare '
                "another merge, such as append.",
            )
    if sum(map(bool, set_keys.values())) < _SEVERAL:
        return
    for step in _certain_steps(graph, set_keys):
        setters: dict[str, str] = {}
        for index, name in sorted((nodes[name][0], name) for name in step):
            for key in set_keys[name]:
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


def _certain_steps(
    graph: GraphSpec, set_keys: Mapping[str, Sequence[str]]
) -> Iterator[frozenset[str]]:
    """Yield the nodes that certainly run in each superstep, until these repeat or are many."""
    certain = {node.name for node in graph.nodes if not node.when}
    passing = {node.name for node in graph.nodes if node.on_error == "fail"}
    after: dict[str, set[str]] = defaultdict(set)
    for edge in graph.edges:
        is_certain = edge.kind in ("direct", "fan_out") and not edge.when and not edge.select
        if is_certain and edge.sources[0] in passing:
            after[edge.sources[0]].update(certain.intersection(edge.targets))
    names, seen, work = frozenset(certain.intersection(graph.start)), set[frozenset[str]](), 0
    while names and names not in seen and work < _MAX_WORK:
        seen.add(names)
        yield names
        work += sum(1 + len(after[name]) + len(set_keys[name]) for name in names)
        names = frozenset(target for name in names for target in after[name])
