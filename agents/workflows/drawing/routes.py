"""Ways of the links of a drawing, and the places of their labels. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from agents.workflows.drawing.layers import Layers
from agents.workflows.drawing.letters import fitting, width_of
from agents.workflows.drawing.outline import Link, Outline
from agents.workflows.drawing.positions import DrawnEdge, DrawnNode, Point

LABEL_SIZE: Final = 11
LABEL_LINE: Final = 15
LONGEST_LABEL: Final = 150
LANE: Final = 24
TIP: Final = 14
#: Places of a label on the first bow of a way, the best first.
PLACES: Final = (0.5, 0.36, 0.64, 0.24, 0.76)


@dataclass(slots=True)
class Grid:
    """Positions of the vertices: the layer and the level of each.

    Attributes:
        columns: Left and right of each layer.
        floors: Lowest level of each layer that is in use.
        labelled: Lines with a label, by layer.
    """

    layers: Layers
    levels: Sequence[float]
    columns: Sequence[tuple[float, float]]
    floors: list[float] = field(init=False)
    labelled: set[tuple[int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.floors = [max(self.levels[vertex] for vertex in row) for row in self.layers.rows]


def label_of(link: Link) -> tuple[str, float]:
    """Return the label of a link, cut to fit, and its width."""
    label = fitting(link.label, LABEL_SIZE, LONGEST_LABEL)
    return label, width_of(label, LABEL_SIZE)


def routed(outline: Outline, nodes: Sequence[DrawnNode], grid: Grid) -> tuple[DrawnEdge, ...]:
    """Return the edges, in the order of their links."""
    found: dict[int, DrawnEdge] = {}
    for index, chain in sorted(grid.layers.chains.items()):
        points = tuple(_way(chain, nodes, grid))
        label, width = label_of(outline.links[index])
        at = _label_at(points, width, grid.layers.ranks[chain[0]], grid) if label else points[0]
        found[index] = DrawnEdge(outline.links[index], points, label, at, is_detour=False)
    for vertex, node in enumerate(nodes):
        rank = grid.layers.ranks[vertex]
        grid.floors[rank] = max(grid.floors[rank], node.y + node.height)
    place = {node.item.key: vertex for vertex, node in enumerate(nodes)}
    spans: list[tuple[int, int, int, int]] = []  # length, position, first and last layer
    for index in grid.layers.detours:
        link = outline.links[index]
        first, last = sorted(grid.layers.ranks[place[key]] for key in (link.source, link.target))
        spans.append((last - first, index, first, last))
    for _, index, first, last in sorted(spans):
        link = outline.links[index]
        low = max(grid.floors[first : last + 1]) + LANE
        grid.floors[first : last + 1] = [low] * (last + 1 - first)
        found[index] = _detour(link, (place[link.source], place[link.target]), low, nodes, grid)
    return tuple(found[index] for index in sorted(found))


def _way(chain: Sequence[int], nodes: Sequence[DrawnNode], grid: Grid) -> Iterator[Point]:
    """Yield the points of a way through the layers: level within each, bowed between them."""
    yield _right(nodes[chain[0]])
    for vertex in chain:
        left, right = grid.columns[grid.layers.ranks[vertex]]
        if vertex != chain[0]:
            yield left, grid.levels[vertex]
        if vertex != chain[-1]:
            yield right, grid.levels[vertex]
    yield _left(nodes[chain[-1]])


def _detour(
    link: Link, ends: tuple[int, int], low: float, nodes: Sequence[DrawnNode], grid: Grid
) -> DrawnEdge:
    """Return an edge that leaves at the right, leads along below and arrives from the left."""
    source, target = (nodes[vertex] for vertex in ends)
    right, left = (
        grid.columns[grid.layers.ranks[ends[0]]][1],
        grid.columns[grid.layers.ranks[ends[1]]][0],
    )
    begin, end = _right(source), _left(target)
    points = (begin, (right, begin[1]), (right, low), (left, low), (left, end[1]), end)
    return DrawnEdge(link, points, label_of(link)[0], ((left + right) / 2, low), is_detour=True)


def _right(node: DrawnNode) -> Point:
    return node.x + node.width, round(node.y + node.height / 2, 1)


def _left(node: DrawnNode) -> Point:
    return node.x, round(node.y + node.height / 2, 1)


def _label_at(points: Sequence[Point], width: float, rank: int, grid: Grid) -> Point:
    """Return a free place on the first bow; if none is free, the middle."""
    (x1, y1), (x2, y2) = points[1], points[2]
    line = 0
    for part in PLACES:
        y = y1 + (3 * part**2 - 2 * part**3) * (y2 - y1)
        line = round(y / LABEL_LINE)
        near = {(rank, line + step) for step in (-1, 0, 1)}
        if not near & grid.labelled:
            grid.labelled.add((rank, line))
            bow = 1.5 * part * (1 - part) ** 2 + 1.5 * part**2 * (1 - part) + part**3
            inside = min(x1 + bow * (x2 - x1), x2 - width / 2 - TIP)  # clear of the tip
            return round(max(inside, x1 + width / 2), 1), round(y, 1)
    return (x1 + x2) / 2, round((y1 + y2) / 2, 1)
