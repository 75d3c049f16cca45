"""Names in a graph: duplicates, unknown names, and settings that belong to another kind of node."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Final

from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.spec.values import RESERVED
from agents.workflows.validation.faults import AddFault, FaultList, Installation

_RUNS: Final = ("agent", "workflow")
_CALLS: Final = ("function", "validator", "tool", "code", *_RUNS)
#: Settings of a node that only some kinds of work have.
_BELONGS: Final = {
    "task": (*_RUNS, "code"),
    "arguments": ("tool",),
    "language": ("code",),
    "form": ("ask",),
    "group": ("ask",),
    "on_timeout": ("ask",),
    "timeout": (*_CALLS, "ask"),
    "retry": _CALLS,
}


def check_names(graph: GraphSpec, installation: Installation, faults: FaultList) -> None:
    """Add faults of names."""
    names: dict[str, int] = {}
    for index, node in enumerate(graph.nodes):
        if names.setdefault(node.name, index) != index:
            place = ("nodes", index, "name")
            faults.add(place, f'Two nodes are named "{node.name}": rename one of them.')
    for index, node in enumerate(graph.nodes):
        _check_node(index, node, names, installation, faults)
    if not graph.start:
        faults.add(("start",), "No node is sent the input: name one or more in start.")
    _check_known(faults.about("start", "start"), graph.start, names, faults)
    _check_edges(graph, names, faults)


def _check_known(
    add: AddFault, used: Iterable[str], names: Collection[str], faults: FaultList
) -> None:
    for name in dict.fromkeys(used):
        if name not in names:
            add(f'names the unknown node "{name}"{faults.hint(name, names)}')


def _check_node(
    index: int,
    node: NodeSpec,
    names: Collection[str],
    installation: Installation,
    faults: FaultList,
) -> None:
    subject = f'The node "{node.name}"'
    add = faults.about(subject, "nodes", index)
    if node.on_error not in RESERVED:
        of_handler = faults.about(f"on_error of t{subject[1:]}", "nodes", index, "on_error")
        _check_known(of_handler, [node.on_error], names, faults)
    known = installation.names_of(node.work)
    if known is not None and node.subject not in known:
        hint = faults.hint(node.subject, known)
        add(f'names the unknown {node.work} "{node.subject}"{hint}', node.work)
    for setting, kinds in _BELONGS.items():
        if node.work not in kinds and getattr(node, setting) != node.default_of(setting):
            add(f"has {setting}, which belongs to {' and '.join(kinds)}: remove it.", setting)
    if node.max_parallel is not None and not node.each:
        end = "has max_parallel without each: name the list in each, or remove it."
        add(end, "max_parallel")


def _check_edges(graph: GraphSpec, names: Collection[str], faults: FaultList) -> None:
    seen: set[str] = set()
    for index, edge in enumerate(graph.edges):
        add = faults.about(f"The edge {edge.text}", "edges", index)
        sources, targets = edge.sources, edge.targets
        _check_known(add, (*sources, *targets), names, faults)
        written = json.dumps(edge.plain(), sort_keys=True)
        if written in seen:
            add("is there twice: remove one of them.")
        seen.add(written)
        for kind, nodes in (("source", sources), ("target", targets)):
            if len(set(nodes)) < len(nodes):
                add(f"names a {kind} twice: remove one of them.")
        if isinstance(edge.wait, int) and edge.wait > len(sources):
            waits = f"waits for {edge.wait} of {len(sources)} sources"
            add(f'{waits}: write "all", or a smaller number.', "wait")
