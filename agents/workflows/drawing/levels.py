"""Levels of a drawing: the height at which each vertex stands, near to its neighbours. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from agents.workflows.drawing.layers import Layers

PASSES: Final = 6
GAP: Final = 22
GAP_OF_BENDS: Final = 18


def levels_of(layers: Layers, heights: Sequence[float], top: float) -> list[float]:
    """Return the level of the middle of each vertex.

    Args:
        layers: The layers.
        heights: Heights of the items; bends have none.
        top: Level at which the highest item begins.
    """
    levels = [0.0] * len(layers.before)
    offsets = [_offsets(row, heights) for row in layers.rows]
    for row, offset in zip(layers.rows, offsets, strict=True):
        for vertex, distance in zip(row, offset, strict=True):
            levels[vertex] = distance - offset[-1] / 2
    for turn in range(PASSES + 1):
        is_last = turn == PASSES
        rows = list(zip(layers.rows, offsets, strict=True))
        for row, offset in reversed(rows) if turn % 2 else rows:
            wanted = [_wanted(layers, vertex, levels, turn, both=is_last) for vertex in row]
            for vertex, level in zip(row, _apart(wanted, offset), strict=True):
                levels[vertex] = level
    highest = min(
        levels[vertex] - _height(vertex, heights) / 2 for row in layers.rows for vertex in row
    )
    return [round(level - highest + top, 1) for level in levels]


def _height(vertex: int, heights: Sequence[float]) -> float:
    return heights[vertex] if vertex < len(heights) else 0.0


def _offsets(row: Sequence[int], heights: Sequence[float]) -> list[float]:
    """Return the least distances of a row's vertices from its first one."""
    found = [0.0]
    for one, other in pairwise(row):
        is_bend = one >= len(heights) or other >= len(heights)
        between = (_height(one, heights) + _height(other, heights)) / 2
        found.append(found[-1] + between + (GAP_OF_BENDS if is_bend else GAP))
    return found


def _wanted(
    layers: Layers, vertex: int, levels: Sequence[float], turn: int, *, both: bool
) -> float:
    near = layers.after[vertex] if turn % 2 else layers.before[vertex]
    if both:
        near = [*layers.before[vertex], *layers.after[vertex]]
    return sum(levels[one] for one in near) / len(near) if near else levels[vertex]


def _apart(wanted: Sequence[float], offsets: Sequence[float]) -> list[float]:
    """Return the levels nearest to those wanted (least squares) that keep all distances.

    Without its offset each level may be no lower than the one before: an isotonic regression, by
    merging neighbours that violate it.
    """
    blocks: list[tuple[float, int]] = []  # mean and number of vertices
    for level, offset in zip(wanted, offsets, strict=True):
        mean, number = level - offset, 1
        while blocks and blocks[-1][0] > mean:
            other, size = blocks.pop()
            mean = (mean * number + other * size) / (number + size)
            number += size
        blocks.append((mean, number))
    free = [mean for mean, number in blocks for _ in range(number)]
    return [level + offset for level, offset in zip(free, offsets, strict=True)]
