# ruff: noqa: S608  the statement consists of constants and the SQL of a query set
"""Ranking by meaning: the distance of vectors to that of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from memory.fusion import Ranking

if TYPE_CHECKING:
    from memory.embeddings.meaning import Meaning
    from memory.embeddings.table import VectorTable

#: A ranking by meaning has no end, only ever farther rows.
_MOST_NEAR: Final = 50


def by_meaning(
    table: VectorTable, embedded: str, values: tuple[Any, ...], meaning: Meaning, *, few: bool
) -> Ranking:
    """Rank embedded rows, as SQL of (id), by the distance of their vectors to the query's.

    A few rows are compared one by one: an index scan would read thousands of others to find them.
    """
    size = int(meaning.dimensions)
    distance = f"e.vector::halfvec({size}) <=> %s::halfvec({size})"
    order = f"({distance}) + 0" if few else distance  # a sum is in no index
    rows = f"""
        SELECT near.id, rank() OVER (ORDER BY near.distance) AS rank
        FROM (
            SELECT e.{table.key} AS id, {distance} AS distance FROM {table.name} e
            WHERE vector_dims(e.vector) = {size} AND e.{table.key} IN ({embedded})
            ORDER BY {order} LIMIT {_MOST_NEAR}
        ) near
    """
    return Ranking("meaning", rows, (meaning.vector, *values, meaning.vector))
