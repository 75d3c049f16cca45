# ruff: noqa: S608  the statements consist of constants and the SQL of query sets
"""Rankings by a query, and their fusion: weighted reciprocal ranks (Cormack et al. 2009), in SQL.

The constants are those that were best on the training part of the questions of ``make evals``
(``tests.evals.manuals``): ``docs/decisions/0049-rare-words-count-more.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

#: Ranks that a hit may fall before its part of a score is halved. Web search takes 60, for the
#: union of equally good rankings; here, hits that are first by meaning shall stay ahead.
_K: Final = 10
#: Weight of the words beside the meaning.
_WORDS: Final = 0.3
_MOST_RANKED: Final = 200
#: Weights of the lexemes of texts and of headings, which are marked with D and A.
_PLACES: Final = "{0.5, 0.5, 0.5, 1}"
#: A word that is found often in a text counts at most three times as much as one found once.
_HALF: Final = 0.5


@dataclass(frozen=True, slots=True)
class Ranking:
    """A way to rank rows by a query.

    Attributes:
        name: Name for readers.
        rows: SQL of rows (id, rank), the best of which has rank 1. It may use ``asked`` (language,
            words), the query's lexemes in each language.
        values: Values of its placeholders.
        weight: Weight beside other rankings.
    """

    name: str
    rows: str
    values: tuple[Any, ...]
    weight: float = 1.0


def by_words(candidates: str, values: tuple[Any, ...]) -> Ranking:
    """Rank candidates, as SQL of (id, language, search), by the words of their own language.

    A word weighs more if fewer candidates contain it, as in BM25.
    """
    rows = f"""
        SELECT id, rank() OVER (ORDER BY sum(fit * ln(1 + total / holders)) DESC) AS rank
        FROM (
            SELECT c.id, f.fit / (f.fit + {_HALF}) AS fit, c.total,
                count(*) OVER (PARTITION BY a.language, a.word) AS holders
            FROM (SELECT *, count(*) OVER ()::float8 AS total FROM ({candidates}) given) c
            JOIN (
                SELECT language, unnest(string_to_array(words::text, ' | '))::tsquery AS word
                FROM asked
            ) a ON a.language = c.language AND c.search @@ a.word
            CROSS JOIN LATERAL (SELECT ts_rank('{_PLACES}', c.search, a.word) AS fit) f
        ) found
        GROUP BY id ORDER BY rank LIMIT {_MOST_RANKED}
    """
    return Ranking("words", rows, values, _WORDS)


def fused(rankings: Sequence[Ranking]) -> tuple[str, list[Any]]:
    """Return SQL of rows (id, relevance, nearness), and the values of its placeholders.

    The relevance is from 0 to 1, which is the best row of every ranking; the nearness is the rank
    by meaning, or null.
    """
    total = sum(each.weight for each in rankings)
    ranks = " UNION ALL ".join(
        f"SELECT id, rank, {each.weight / total:.6f} AS weight, '{each.name}' AS by "
        f"FROM ({each.rows})"
        for each in rankings
    )
    rows = (
        f"SELECT id, sum(weight * {_K + 1.0} / ({_K} + rank))::float8 AS relevance, "
        f"min(rank) FILTER (WHERE by = 'meaning') AS nearness FROM ({ranks}) GROUP BY id"
    )
    return rows, [value for each in rankings for value in each.values]


def unranked(rows: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return SQL like that of ``fused``, for rows (id) requested without a query."""
    return f"SELECT id, 0.0 AS relevance, NULL::bigint AS nearness FROM ({rows})", list(values)
