"""Conditions for ``order = "ready"``: it must not change the result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import and_

from agents.workflows.graph import any_of, bits_of, find_ancestors, handler_of, next_nodes
from agents.workflows.spec.edge import ARROW, EdgeSpec, listed
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.validation.faults import FaultList
from agents.workflows.validation.paths import find_cycle
from agents.workflows.validation.references import Use

_REMEDY = 'change that, or write order = "barrier".'


def check_order(graph: GraphSpec, uses: Iterable[Use], faults: FaultList) -> None:
    """Add faults of a graph whose result would depend on which node is the quickest."""
    if graph.order != "ready":
        return
    after = next_nodes(graph)
    if cycle := find_cycle(after):
        faults.add(
            ("order",),
            f'The nodes {listed(cycle, ARROW)} wait for each other, and order = "ready" needs a '
            f"graph without cycles: {_REMEDY}",
        )
    _check_groups(graph, faults)
    for index, edge in enumerate(graph.edges):
        if edge.wait != "all":
            add = faults.about(f"The edge {edge.text}", "edges", index, "wait")
            end = 'does not wait for all its sources, and with order = "ready" the quickest would'
            add(f"{end} decide: {_REMEDY}")
    writers = _check_keys(graph, faults)
    _check_reads(uses, after, writers, faults)


def _check_groups(graph: GraphSpec, faults: FaultList) -> None:
    """Add faults of nodes that are sent messages in more than one way."""
    groups: dict[str, list[str | EdgeSpec]] = defaultdict(list)
    for name in graph.start:
        groups[name].append("the start")
    for edge in graph.edges:
        for target in edge.targets:
            groups[target].append(edge)
    for node in graph.nodes:
        if (handler := handler_of(node)) is not None:
            groups[handler].append(f'the errors of "{node.name}"')
    for index, node in enumerate(graph.nodes):
        if len(ways := groups[node.name]) > 1:
            add = faults.about(f'The node "{node.name}" is sent messages by', "nodes", index)
            end = f'and order = "ready" needs one of them, such as a fan-in: {_REMEDY}'
            add(f"{_listed(ways)}, {end}")


def _listed(ways: Sequence[str | EdgeSpec]) -> str:
    """Return the first ways into a node, and the number of the others."""
    shown = [f"the edge {one.text}" if isinstance(one, EdgeSpec) else one for one in ways[:3]]
    return " and ".join([*shown, f"{len(ways) - 3:,} more"] if ways[3:] else shown)


def _check_keys(graph: GraphSpec, faults: FaultList) -> dict[str, str]:
    """Add faults of keys that several nodes write, and return the writer of each other key."""
    writers: dict[str, list[str]] = defaultdict(list)
    for node in graph.nodes:
        for key in node.set or {}:
            writers[key].append(node.name)
    for key, names in writers.items():
        if len(names) > 1:
            add = faults.about("The nodes", "state", key)
            named = listed([f'"{name}"' for name in names], " and ")
            add(f'{named} write the key "{key}", and order = "ready" allows one writer: {_REMEDY}')
    return {key: names[0] for key, names in writers.items() if len(names) == 1}


def _check_reads(
    uses: Iterable[Use],
    after: Mapping[str, Iterable[str]],
    writers: Mapping[str, str],
    faults: FaultList,
) -> None:
    """Add faults of expressions that read a node, or a key, which may not be finished yet."""
    bits, ancestors = bits_of(after), find_ancestors(after)
    for use in uses:
        own = 0 if use.is_edge else any_of(bits[node] for node in use.nodes)
        earlier = reduce(and_, (ancestors[node] for node in use.nodes), -1) & ~own
        for path in sorted(use.references, key=str):
            match path:
                case ("steps", str(name), *_):
                    pass
                case ("state", str(key), *_):
                    name = writers.get(key, "")
                case _:
                    name = ""
            if name in bits and not earlier & bits[name]:  # an unknown node is another fault
                end = f'reads what the node "{name}" produces, which may not have ended then with'
                remedy = f'order = "ready": let it need that node, or {_REMEDY}'
                faults.add(use.place, f"{use.subject} {end} {remedy}")
