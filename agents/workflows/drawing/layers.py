"""Layers of a drawing: ranks without cycles, and an order in each layer with few crossings. Pure.

A link that leads back, or over more layers than the drawing has bends for, is a detour: it is drawn
below the layers. Any other long link is bent in each layer that it crosses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from agents.workflows.drawing.outline import Outline
from agents.workflows.graph import postorder

MAX_BENDS: Final = 3_000
SWEEPS: Final = 6


@dataclass(slots=True)
class Layers:
    """Vertices by layer; those beyond the items are bends.

    Attributes:
        ranks: Layer of each vertex.
        rows: Vertices of each layer, in order.
        chains: Vertices of each link, from its source to its target, by position of the link.
        detours: Positions of the links that are drawn below the layers.
        before: Vertices of the layer before that lead to a vertex.
        after: Vertices of the next layer that a vertex leads to.
    """

    ranks: list[int]
    rows: list[list[int]]
    chains: dict[int, list[int]]
    detours: list[int]
    before: list[list[int]]
    after: list[list[int]]


def layers_of(outline: Outline) -> Layers:
    """Return the layers of an outline."""
    place = {item.key: index for index, item in enumerate(outline.items)}
    pairs = [(place[link.source], place[link.target]) for link in outline.links]
    ranks, forward = _ranks(outline)
    bends, chains = 0, dict[int, list[int]]()
    lengths = {index: ranks[pairs[index][1]] - ranks[pairs[index][0]] for index in forward}
    for index in sorted(forward, key=lengths.__getitem__):
        bends += lengths[index] - 1
        if bends <= MAX_BENDS:
            source, target = pairs[index]
            between = range(len(ranks), len(ranks) + lengths[index] - 1)
            ranks += range(ranks[source] + 1, ranks[target])
            chains[index] = [source, *between, target]
    rows: list[list[int]] = [[] for _ in range(max(ranks) + 1)]
    for vertex, rank in enumerate(ranks):
        rows[rank].append(vertex)
    before: list[list[int]] = [[] for _ in ranks]
    after: list[list[int]] = [[] for _ in ranks]
    for _, chain in sorted(chains.items()):
        for one, other in pairwise(chain):
            after[one].append(other)
            before[other].append(one)
    _order(rows, before, after)
    detours = [index for index in range(len(pairs)) if index not in chains]
    return Layers(ranks, rows, chains, detours, before, after)


def _ranks(outline: Outline) -> tuple[list[int], list[int]]:
    """Return the length of the longest path to each item, and the links that lead forward.

    A link leads back if it closes a cycle in a search from the start, in declared order.
    """
    leaving: dict[str, list[str]] = {item.key: [] for item in reversed(outline.items)}
    for link in reversed(outline.links):
        leaving[link.source].append(link.target)
    order = postorder(leaving)[::-1]
    turn = {key: number for number, key in enumerate(order)}
    ranks = dict.fromkeys(order, 0)
    for source in order:
        for target in leaving[source]:
            if turn[target] > turn[source]:
                ranks[target] = max(ranks[target], ranks[source] + 1)
    links = enumerate(outline.links)
    forward = [index for index, link in links if turn[link.target] > turn[link.source]]
    return [ranks[item.key] for item in outline.items], forward


def mean(values: Sequence[float], places: Sequence[int], otherwise: float) -> float:
    """Return the mean of the values at these places; without places, the other value."""
    return sum(values[one] for one in places) / len(places) if places else otherwise


def _order(
    rows: Sequence[list[int]], before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]
) -> None:
    """Move each vertex to the mean position of its neighbours, layer by layer, to and fro."""
    position = [0.0] * len(before)
    for sweep in range(-1, SWEEPS):
        near = after if sweep % 2 else before
        for row in reversed(rows) if sweep % 2 else rows:
            if sweep >= 0:  # the first pass only numbers; sorting is stable
                row.sort(key=lambda one: mean(position, near[one], position[one]))
            for index, vertex in enumerate(row):
                position[vertex] = (index + 0.5) / len(row)
