"""Levels of a drawing: the height at which each vertex stands, near to its neighbours. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from agents.workflows.drawing.layers import Layers, mean

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
    halves = [height / 2 for height in heights] + [0.0] * (len(layers.ranks) - len(heights))
    levels = [0.0] * len(halves)
    rows = [(row, _offsets(row, halves)) for row in layers.rows]
    for row, offset in rows:
        for vertex, distance in zip(row, offset, strict=True):
            levels[vertex] = distance - offset[-1] / 2
    for turn in range(PASSES + 1):
        before = layers.before if turn == PASSES or not turn % 2 else [[]] * len(levels)
        after = layers.after if turn == PASSES or turn % 2 else [[]] * len(levels)
        for row, offset in reversed(rows) if turn % 2 else rows:
            wanted = [mean(levels, before[one] + after[one], levels[one]) for one in row]
            for vertex, level in zip(row, _apart(wanted, offset), strict=True):
                levels[vertex] = level
    highest = min(level - half for level, half in zip(levels, halves, strict=True))
    return [round(level - highest + top, 1) for level in levels]


def _offsets(row: Sequence[int], halves: Sequence[float]) -> list[float]:
    """Return the least distances of a row's vertices from its first one."""
    found = [0.0]
    for one, other in pairwise(row):
        gap = GAP if halves[one] and halves[other] else GAP_OF_BENDS
        found.append(found[-1] + halves[one] + halves[other] + gap)
    return found


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
