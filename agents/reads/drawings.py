"""Drawings of the graphs of workflows, from the snapshots of their versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from agents.definitions.kinds import kind_in
from agents.workflows.drawing.draw import draw
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


def drawn(snapshot: Mapping[str, Any]) -> str:
    """Return the drawing of a snapshot as SVG for a page; empty: it has no graph.

    Raises:
        DrawingTooLargeError: The graph has too many edges.
    """
    graph = graph_of(snapshot)
    return "" if graph is None else to_svg(draw(graph), title="Graph", is_alone=False)
