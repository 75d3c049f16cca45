"""Metrics of rankings, of memories and of passages alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

RANKINGS: Final = ("lexical", "vector", "fused")


def rank_metrics(places: Sequence[int | None]) -> dict[str, float]:
    """Return the metrics of ranks from 1; None: the answer is not among the first."""
    ranks = [place for place in places if place is not None]
    return {
        "recall@1": sum(rank == 1 for rank in ranks) / len(places),
        "recall@5": sum(rank <= 5 for rank in ranks) / len(places),
        "mrr@10": sum(1 / rank for rank in ranks) / len(places),
    }
