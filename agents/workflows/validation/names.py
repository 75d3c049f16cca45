"""Names in a graph: duplicates, unknown names, and settings that belong to another kind of node."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Final

from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from agents.workflows.spec.values import RESERVED
from agents.workflows.validation.faults import FaultList, Installation, Place

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
            faults.add(
                ("nodes", index, "name"), f'Two nodes are named "{node.name}": rename one of them.'
            )
    for index, node in enumerate(graph.nodes):
        _check_node(index, node, names, installation, faults)
    if not graph.start:
        faults.add(("start",), "No node is sent the input: name one or more in start.")
    _check_known("start names", ("start",), graph.start, names, faults)
    _check_edges(graph, names, faults)


def _check_known(
    subject: str, place: Place, used: Iterable[str], names: Collection[str], faults: FaultList
) -> None:
    for name in dict.fromkeys(used):
        if name not in names:
            hint = faults.hint(name, names)
            faults.add(place, f'{subject} the unknown node "{name}"{hint}')


def _check_node(
    index: int,
    node: NodeSpec,
    names: Collection[str],
    installation: Installation,
    faults: FaultList,
) -> None:
    here, subject = ("nodes", index), f'The node "{node.name}"'
    if node.on_error not in RESERVED:
        _check_known(
            f'on_error of the node "{node.name}" names',
            (*here, "on_error"),
            [node.on_error],
            names,
            faults,
        )
    known = installation.names_of(node.work)
    if known is not None and node.subject not in known:
        hint = faults.hint(node.subject, known)
        faults.add(
            (*here, node.work),
            f'{subject} names the unknown {node.work} "{node.subject}"{hint}',
        )
    for setting, kinds in _BELONGS.items():
        if node.work not in kinds and getattr(node, setting) != node.default_of(setting):
            faults.add(
                (*here, setting),
                f"{subject} has {setting}, which belongs to {' and '.join(kinds)}: remove it.",
            )
    if node.max_parallel is not None and not node.each:
        faults.add(
            (*here, "max_parallel"),
            f"{subject} has max_parallel without each: name the list in each, or remove it.",
        )


def _check_edges(graph: GraphSpec, names: Collection[str], faults: FaultList) -> None:
    seen: set[str] = set()
    for index, edge in enumerate(graph.edges):
        place, subject = ("edges", index), f"The edge {edge.text}"
        sources, targets = edge.sources, edge.targets
        _check_known(f"{subject} names", place, (*sources, *targets), names, faults)
        written = json.dumps(edge.plain(), sort_keys=True)
        if written in seen:
            faults.add(place, f"{subject} is there twice: remove one of them.")
        seen.add(written)
        for kind, nodes in (("source", sources), ("target", targets)):
            if len(set(nodes)) < len(nodes):
                faults.add(place, f"{subject} names a {kind} twice: remove one of them.")
        if isinstance(edge.wait, int) and edge.wait > len(sources):
            faults.add(
                (*place, "wait"),
                f"{subject} waits for {edge.wait} of {len(sources)} sources: "
                'write "all", or a smaller number.',
            )
