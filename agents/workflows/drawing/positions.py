"""Values of a drawing: nodes and edges with their positions."""

from __future__ import annotations

from dataclasses import dataclass

from agents.workflows.drawing.outline import Item, Link

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """An item with its place; ``x`` and ``y`` are those of its upper left corner."""

    item: Item
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """A link with its way.

    Attributes:
        points: Points of the way, which is level at each of them.
        label: Label of the link, cut to fit.
        label_at: Middle of the label.
        is_detour: True if the way leads below the nodes.
    """

    link: Link
    points: tuple[Point, ...]
    label: str
    label_at: Point
    is_detour: bool

    @property
    def ends(self) -> tuple[str, str]:
        """Keys of the items at its ends."""
        return self.link.source, self.link.target


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph with positions, from left to right."""

    width: float
    height: float
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
