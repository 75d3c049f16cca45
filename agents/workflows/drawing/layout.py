"""Layout of a graph, from left to right. Pure.

One drawing serves the run page, the admin, the comparison of versions and the command line::

    svg = to_svg(draw(graph), states={"grade": "running"})
    text = to_mermaid(graph)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agents.workflows.drawing.layers import Layers, layers_of
from agents.workflows.drawing.letters import width_of
from agents.workflows.drawing.levels import levels_of
from agents.workflows.drawing.outline import END, JOIN, START, Item, Outline, outline_of
from agents.workflows.drawing.positions import Drawing, DrawnNode
from agents.workflows.drawing.routes import Grid, label_of, routed
from agents.workflows.graph import Graph
from agents.workflows.spec.graph import GraphSpec

#: Room around the drawing; at its sides detours turn.
MARGIN: Final = 16
SIDE: Final = 30
NODE_HEIGHT: Final = 48
NARROWEST: Final = 112
WIDEST: Final = 216
#: Room in a node for its glyph and its state.
ASIDE: Final = 68
DOT: Final = 18
JOIN_SIZE: Final = (8, 36)
GAP: Final = 52
BESIDE_LABEL: Final = 34


def draw(given: GraphSpec | Graph) -> Drawing:
    """Return the drawing of a graph; equal graphs have equal drawings.

    Raises:
        DrawingTooLargeError: The graph has too many edges.
    """
    outline = outline_of(given)
    layers = layers_of(outline)
    sizes = [_size(item) for item in outline.items]
    levels = levels_of(layers, [height for _, height in sizes], MARGIN)
    grid = Grid(layers, levels, _columns(outline, layers, sizes))
    nodes = _nodes(outline, sizes, grid)
    edges = routed(outline, nodes, grid)
    lows = [node.y + node.height for node in nodes]
    lows += [y for edge in edges for _, y in edge.points]
    return Drawing(grid.columns[-1][1] + SIDE, max(lows) + MARGIN, nodes, edges)


def _size(item: Item) -> tuple[float, float]:
    if item.kind in (START, END):
        return DOT, DOT
    if item.kind == JOIN:
        return JOIN_SIZE
    wanted = max(width_of(item.name, 13), width_of(item.text, 11)) + ASIDE
    return min(WIDEST, max(NARROWEST, round(wanted))), NODE_HEIGHT


def _columns(
    outline: Outline, layers: Layers, sizes: Sequence[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Return the left and the right of each layer; labels widen the gap after a layer."""
    gaps = [float(GAP)] * len(layers.rows)
    for index, chain in layers.chains.items():
        label, wide = label_of(outline.links[index])
        if label:
            at = layers.ranks[chain[0]]
            gaps[at] = max(gaps[at], round(wide) + BESIDE_LABEL)
    found, left = [], float(SIDE)
    for row, gap in zip(layers.rows, gaps, strict=True):
        width = max((sizes[vertex][0] for vertex in row if vertex < len(sizes)), default=0.0)
        found.append((left, left + width))
        left += width + gap
    return found


def _nodes(
    outline: Outline, sizes: Sequence[tuple[float, float]], grid: Grid
) -> tuple[DrawnNode, ...]:
    """Place the items: the start at the right of its layer, others at the left; nodes fill it."""
    found = []
    for vertex, (item, (width, height)) in enumerate(zip(outline.items, sizes, strict=True)):
        left, right = grid.columns[grid.layers.ranks[vertex]]
        wide = right - left if item.name else width
        x = right - wide if item.kind == START else left
        found.append(DrawnNode(item, x, round(grid.levels[vertex] - height / 2, 1), wide, height))
    return tuple(found)
