"""Layers of a drawing: ranks without cycles, and an order in each layer with few crossings. Pure.

A link that leads back, or over more layers than the drawing has bends for, is a detour: it is drawn
below the layers. Any other long link is bent in each layer that it crosses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from agents.workflows.drawing.outline import Outline

MAX_BENDS: Final = 3_000
SWEEPS: Final = 6

#: Ends of a link, as positions of items.
Pair = tuple[int, int]


@dataclass(slots=True)
class Layers:
    """Vertices by layer; those beyond the items are bends.

    Attributes:
        rows: Vertices of each layer, in order.
        chains: Vertices of each link, from its source to its target, by position of the link.
        detours: Positions of the links that are drawn below the layers.
        before: Vertices of the layer before that lead to a vertex.
        after: Vertices of the next layer that a vertex leads to.
    """

    rows: list[list[int]]
    chains: dict[int, list[int]]
    detours: list[int]
    before: list[list[int]] = field(default_factory=list)
    after: list[list[int]] = field(default_factory=list)


def layers_of(outline: Outline) -> Layers:
    """Return the layers of an outline."""
    place = {item.key: index for index, item in enumerate(outline.items)}
    pairs = [(place[link.source], place[link.target]) for link in outline.links]
    back = _back(len(place), pairs)
    ranks = _ranks(len(place), [pair for index, pair in enumerate(pairs) if index not in back])
    forward = [index for index in range(len(pairs)) if index not in back]
    found = Layers([[] for _ in range(max(ranks) + 1)], {}, [])
    for vertex, rank in enumerate(ranks):
        found.rows[rank].append(vertex)
    count, bends = len(place), 0
    for index in sorted(forward, key=lambda one: ranks[pairs[one][1]] - ranks[pairs[one][0]]):
        source, target = pairs[index]
        between = range(ranks[source] + 1, ranks[target])
        bends += len(between)
        if bends > MAX_BENDS:
            back.add(index)
            continue
        for rank in between:
            found.rows[rank].append(count + rank - between.start)
        found.chains[index] = [source, *range(count, count + len(between)), target]
        count += len(between)
    found.detours = sorted(back)
    found.before = [[] for _ in range(count)]
    found.after = [[] for _ in range(count)]
    for _, chain in sorted(found.chains.items()):
        for one, other in pairwise(chain):
            found.after[one].append(other)
            found.before[other].append(one)
    _order(found, count)
    return found


def _back(count: int, pairs: Sequence[Pair]) -> set[int]:
    """Return the links that close a cycle in a search from the start, in declared order."""
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for index, (source, target) in enumerate(pairs):
        leaving[source].append((index, target))
    found: set[int] = set()
    is_open, is_seen = [False] * count, [False] * count
    for root in range(count):
        path = [] if is_seen[root] else [(root, iter(leaving[root]))]
        is_open[root] = is_seen[root] = True
        while path:
            vertex, rest = path[-1]
            for index, target in rest:
                if is_open[target]:
                    found.add(index)
                elif not is_seen[target]:
                    is_open[target] = is_seen[target] = True
                    path.append((target, iter(leaving[target])))
                    break
            else:
                is_open[vertex] = False
                path.pop()
        is_open[root] = False
    return found


def _ranks(count: int, pairs: Sequence[Pair]) -> list[int]:
    """Return the length of the longest path to each item."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for source, target in pairs:
        leaving[source].append(target)
        missing[target] += 1
    ranks = [0] * count
    ready = [vertex for vertex in range(count) if not missing[vertex]]
    for vertex in ready:  # grows meanwhile
        for target in leaving[vertex]:
            ranks[target] = max(ranks[target], ranks[vertex] + 1)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return ranks


def _order(layers: Layers, count: int) -> None:
    """Move each vertex to the mean position of its neighbours, layer by layer, to and fro."""
    position = [0.0] * count
    for row in layers.rows:
        _number(row, position)
    for sweep in range(SWEEPS):
        near = layers.after if sweep % 2 else layers.before
        for row in reversed(layers.rows) if sweep % 2 else layers.rows:
            wanted = {
                vertex: sum(position[one] for one in near[vertex]) / len(near[vertex])
                if near[vertex]
                else position[vertex]
                for vertex in row
            }
            row.sort(key=wanted.__getitem__)  # stable, so that equal ones keep their order
            _number(row, position)


def _number(row: Sequence[int], position: list[float]) -> None:
    """Number a row's vertices, evenly between 0 and 1."""
    for index, vertex in enumerate(row):
        position[vertex] = (index + 0.5) / len(row)
