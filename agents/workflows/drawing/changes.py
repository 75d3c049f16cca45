"""Marks of the nodes and edges of a graph that differ from those of another version. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agents.workflows.drawing.outline import JOIN, Outline, outline_of
from agents.workflows.spec.graph import GraphSpec


@dataclass(frozen=True, slots=True)
class Marks:
    """States for ``to_svg``.

    Attributes:
        nodes: State of each node that differs, by name.
        edges: State of each edge that differs, by the keys of its ends.
    """

    nodes: dict[str, str]
    edges: dict[tuple[str, str], str]


def marks_of(graph: GraphSpec, other: GraphSpec, only_here: Literal["added", "removed"]) -> Marks:
    """Return the marks of a graph.

    Args:
        graph: The graph.
        other: Graph of the other version.
        only_here: State of what the other version does not have.
    """
    theirs = {node.name: node.plain() for node in other.nodes}
    nodes = {
        node.name: "changed" if node.name in theirs else only_here
        for node in graph.nodes
        if theirs.get(node.name) != node.plain()
    }
    known = _edges(other, outline_of(other))
    found = _edges(graph, outline_of(graph))
    return Marks(nodes, {ends: only_here for edge, ends in found.items() if edge not in known})


def _edges(graph: GraphSpec, outline: Outline) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return the ends of each edge by what identifies it in any version; joins are numbered."""
    joins = {
        f"{JOIN} {index}": f"{JOIN} {edge.text}, {edge.wait}"
        for index, edge in enumerate(graph.edges)
    }
    return {
        (joins.get(one.source, one.source), joins.get(one.target, one.target), one.label): (
            one.source,
            one.target,
        )
        for one in outline.links
    }
