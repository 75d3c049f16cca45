"""Drawings of the graphs of workflows, from the snapshots of their versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from agents.definitions.kinds import kind_in
from agents.workflows.drawing.changes import Marks, marks_of
from agents.workflows.drawing.layout import draw
from agents.workflows.drawing.svg import to_svg
from agents.workflows.spec.graph import GraphSpec, read_graph

WORKFLOW: Final = "workflow"


def graph_of(snapshot: Mapping[str, Any]) -> GraphSpec | None:
    """Return the graph in a snapshot; None: it is of another kind, or cannot be read here."""
    if kind_in(snapshot) != WORKFLOW:
        return None
    try:
        return read_graph(snapshot)
    except ValidationError:
        return None


def drawn_beside(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the drawings of two snapshots, with what differs marked; None: there are none.

    Raises:
        DrawingTooLargeError: A graph has too many edges.
    """
    old, new = graph_of(before), graph_of(after)
    if old is None or new is None:
        return None
    return (
        _marked(old, marks_of(old, new, "removed"), "Graph before"),
        _marked(new, marks_of(new, old, "added"), "Graph after"),
    )


def _marked(graph: GraphSpec, marks: Marks, title: str) -> str:
    return to_svg(draw(graph), states=marks.nodes, edges=marks.edges, title=title, is_alone=False)


def drawn(snapshot: Mapping[str, Any]) -> str:
    """Return the drawing of a snapshot as SVG for a page; empty: it has no graph.

    Raises:
        DrawingTooLargeError: The graph has too many edges.
    """
    graph = graph_of(snapshot)
    return "" if graph is None else to_svg(draw(graph), title="Graph", is_alone=False)
