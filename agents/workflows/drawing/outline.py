"""Outline of a graph: what a drawing shows, before it has positions. Pure.

Beside the nodes of the graph an outline has a start, an end after each node that may end the run,
and a join before the target of each fan-in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from agents.workflows.graph import Graph, handler_of
from agents.workflows.spec.edge import EdgeSpec
from agents.workflows.spec.graph import GraphSpec
from agents.workflows.spec.node import NodeSpec
from heartbit_site.base.amounts import duration
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.visible_text import visible

START: Final = "start"
END: Final = "end"
JOIN: Final = "join"
ELSE: Final = "else"
ON_ERROR: Final = "on error"
SELECTED: Final = "if selected"
#: Links that a drawing has at most: each takes time, and no one can follow more.
MAX_LINKS: Final = 6_000
LONGEST_TEXT: Final = 400
_NODE: Final = "node "
_END: Final = f"{END} "


class DrawingTooLargeError(HeartbitError):
    """The graph has too many edges to be drawn."""


@dataclass(frozen=True, slots=True)
class Item:
    """A shape of a drawing.

    Attributes:
        key: Unique key of the item.
        kind: Kind of work of a node; else ``start``, ``end`` or ``join``.
        name: Name of the node; empty: the item is no node.
        text: Second line of a node, or the sources for which a join waits.
        is_conditional: True if a condition of the node may skip it.
        is_repeated: True if the node handles the entries of a list.
    """

    key: str
    kind: str
    name: str = ""
    text: str = ""
    is_conditional: bool = False
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A line from one item to another.

    Attributes:
        label: Condition under which messages take it; empty: they always do.
        is_error: True if it carries the errors of the source.
    """

    source: str
    target: str
    label: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """Items in declared order, and the links between them."""

    items: tuple[Item, ...]
    links: tuple[Link, ...]


def outline_of(given: GraphSpec | Graph) -> Outline:
    """Return the outline of a graph; edges to nodes that do not exist are left out.

    Raises:
        DrawingTooLargeError: The graph has more than ``MAX_LINKS`` connections.
    """
    spec = given.spec if isinstance(given, Graph) else given
    items = {START: Item(START, START)}
    items |= {f"{_NODE}{node.name}": _item(node) for node in spec.nodes}
    joins = [(index, edge) for index, edge in enumerate(spec.edges) if edge.kind == "fan_in"]
    items |= {
        f"{JOIN} {index}": Item(f"{JOIN} {index}", JOIN, text=_wait(edge)) for index, edge in joins
    }
    found = list(islice(_links(spec), MAX_LINKS + 1))
    if len(found) > MAX_LINKS:
        raise DrawingTooLargeError(
            f"The graph connects more than {MAX_LINKS:,} pairs of nodes: move a part of it into a "
            "workflow of its own to have it drawn."
        )
    links = [link for link in found if link.source in items]
    items |= {link.target: Item(link.target, END) for link in links if link.target.startswith(_END)}
    known = [link for link in links if link.target in items]
    return Outline(tuple(items.values()), tuple(_merged(known)))


def _item(node: NodeSpec) -> Item:
    details = {"set": ", ".join(node.set or {}), "pause": duration(node.pause or 0)}
    detail = details.get(node.work, node.language if node.code else str(node.subject))
    text = f"{node.work} {_line(detail[:LONGEST_TEXT])}"
    key, name = f"{_NODE}{node.name}", visible(node.name)
    return Item(key, node.work, name, text, bool(node.when), bool(node.each))


def _line(text: str) -> str:
    """Return a text on one line, with hidden characters shown."""
    return visible(" ".join(text.split()))


def _wait(edge: EdgeSpec) -> str:
    return f"{edge.wait} of {len(edge.sources)}" if isinstance(edge.wait, int) else edge.wait


def _links(spec: GraphSpec) -> Iterator[Link]:
    for name in spec.start:
        yield Link(START, f"{_NODE}{name}")
    sources: set[str] = set()
    for index, edge in enumerate(spec.edges):
        sources |= set(edge.sources)
        yield from _links_of(index, edge)
    for node in spec.nodes:
        if (handler := handler_of(node)) is not None:
            yield Link(f"{_NODE}{node.name}", f"{_NODE}{handler}", ON_ERROR, is_error=True)
        if node.name not in sources:
            yield Link(f"{_NODE}{node.name}", f"{_END}{node.name}")


def _links_of(index: int, edge: EdgeSpec) -> Iterator[Link]:
    names, when = dict.fromkeys(edge.sources), _line(edge.when)
    first = f"{_NODE}{edge.sources[0]}"
    match edge.kind:
        case "switch":
            for case in edge.cases:
                yield Link(first, f"{_NODE}{case.to}", _line(case.when))
            if edge.default is not None:
                yield Link(first, f"{_NODE}{edge.default}", ELSE)
        case "end":
            yield from (Link(f"{_NODE}{name}", f"{_END}{name}", when) for name in names)
        case "fan_in":
            yield from (Link(f"{_NODE}{name}", f"{JOIN} {index}") for name in names)
            yield Link(f"{JOIN} {index}", f"{_NODE}{edge.targets[0]}", when)
        case _:
            label = when or (SELECTED if edge.select else "")
            yield from (Link(first, f"{_NODE}{name}", label) for name in edge.targets)


def _merged(links: list[Link]) -> Iterator[Link]:
    """Yield one link for all that lead from one item to the same other one."""
    labels: dict[tuple[str, str, bool], dict[str, None]] = {}
    for link in links:
        labels.setdefault((link.source, link.target, link.is_error), {})[link.label] = None
    for (source, target, is_error), found in labels.items():
        yield Link(source, target, "" if "" in found else " or ".join(found), is_error)
