"""Metrics of rankings, of memories and of passages alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.evals.intervals import paired

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

RANKINGS: Final = ("lexical", "vector", "fused")
#: Texts that an agent is given unless it asks for another number.
GIVEN: Final = 5


def rank_metrics(places: Sequence[int | None]) -> dict[str, float]:
    """Return the metrics of ranks from 1; None: the answer is not among the first."""
    ranks = [place for place in places if place is not None]
    return {
        "recall@1": sum(rank == 1 for rank in ranks) / len(places),
        "recall@5": sum(rank <= 5 for rank in ranks) / len(places),
        "mrr@10": sum(1 / rank for rank in ranks) / len(places),
    }


def compared(
    name: str, ranks: Mapping[str, Sequence[int | None]], part: str
) -> Iterator[dict[str, Any]]:
    """Return rows of how much better ``fused`` is than each other ranking, by the same questions.

    Args:
        name: Beginning of the rows' names.
        ranks: For each ranking, those of the questions in order.
        part: Part of the questions.
    """
    for other in RANKINGS[:-1]:
        both = zip(ranks["fused"], ranks[other], strict=True)
        pairs = [(_is_given(first), _is_given(second)) for first, second in both]
        yield {
            "name": f"{name}, fused minus {other}, {part}",
            "metric": f"recall@{GIVEN}",
            "value": round(sum(a - b for a, b in pairs) / len(pairs), 4),
            "baseline": 0.0,
            "n": len(pairs),
            "interval": paired(pairs),
        }


def _is_given(rank: int | None) -> bool:
    return rank is not None and rank <= GIVEN
