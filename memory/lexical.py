# ruff: noqa: S608  the statements consist of constants and the SQL of query sets
"""Language of a text, and rankings by the words of a query.

The constants are those that were best on the training part of the questions of ``make evals``
(``tests.evals.manuals``): ``docs/decisions/0049-rare-words-count-more.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from heartbit_site.base.query import fetch_all, fetch_one

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


_LANGUAGE: Final = """
SELECT c.cfgname
FROM pg_ts_config c, LATERAL (
    SELECT coalesce(sum(cardinality(w.positions)), 0) AS words
    FROM unnest(to_tsvector(c.oid::regconfig, %s)) w
) left_over
WHERE c.cfgnamespace = 'pg_catalog'::regnamespace AND c.cfgname <> 'simple'
ORDER BY left_over.words, c.cfgname <> 'english', c.cfgname
LIMIT 1
"""


def detect_language(text: str) -> str:
    """Return the text search configuration for which the text has the most stop words.

    A text without stop words, such as a name, counts as English; so does one that fits several.
    """
    (name,) = fetch_one(_LANGUAGE, [text])
    return str(name)


#: Rows that are ranked for one query: of memories, the last changed of those that match.
MOST_MATCHED: Final = 1_000

# Languages are read off their index, a row each. The statistics of the column list the commonest
# lexemes with their shares, of all workspaces; a lexeme that is not listed is in few memories.
_LEXEMES: Final = """
WITH RECURSIVE present AS (
    SELECT min(language) AS language FROM {table}
    UNION ALL
    SELECT (SELECT min(m.language) FROM {table} m WHERE m.language > p.language)
    FROM present p WHERE p.language IS NOT NULL
),
common AS (
    SELECT e.lexeme
    FROM pg_stats s
    JOIN pg_class c ON c.oid = to_regclass(s.tablename),
    unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) e(lexeme, share)
    WHERE s.schemaname = current_schema() AND s.tablename = '{table}'
        AND s.attname = 'search' AND e.share * c.reltuples > {most}
)
SELECT p.language, array_agg(array_to_tsvector(ARRAY[w.lexeme])::text ORDER BY w.lexeme),
    array_agg(w.lexeme IN (SELECT lexeme FROM common) ORDER BY w.lexeme)
FROM present p, unnest(to_tsvector(p.language::regconfig, %s)) w
WHERE p.language IS NOT NULL
GROUP BY p.language
"""


@dataclass(frozen=True, slots=True)
class Lexemes:
    """Words of a query.

    Attributes:
        languages: Text search configurations in which the query has a word.
        words: For each language, a tsquery of any of its words, to rank by.
        match: A tsquery that finds the candidates of all languages; empty: the query has no word
            to look for.
    """

    languages: tuple[str, ...]
    words: tuple[str, ...]
    match: str

    def candidates(self, rows: QuerySet[Any], *order: Any) -> QuerySet[Any]:
        """Return the first of the rows that match, in an order."""
        column = f"{rows.model._meta.db_table}.search"
        matches = RawSQL(  # noqa: S611  the name of a model's table
            f"{column} @@ %s::tsquery", [self.match], output_field=BooleanField()
        )
        return rows.filter(matches).order_by(*order)[:MOST_MATCHED]


NO_LEXEMES: Final = Lexemes((), (), "")


def find_lexemes(rows: QuerySet[Any], query: str) -> Lexemes:
    """Return the words of a query.

    Words that are in more than ``MOST_MATCHED`` rows are weak signals and slow to search for. They
    select rows only among few candidates; among many, a row must have a rarer word of the query or,
    if the query has no rarer word, all of its words. They always count in the ranking.

    Args:
        rows: Rows of a table with the columns ``language`` and ``search``.
        query: The query.
    """
    table = rows.model._meta.db_table
    statement = _LEXEMES.format(table=table, most=MOST_MATCHED)
    found = fetch_all(statement, [query], prepare=True)
    by_language = {name: list(zip(*columns, strict=True)) for name, *columns in found}
    any_common = any(common for words in by_language.values() for _, common in words)
    few = not any_common or are_few(rows)
    matched = {_match(words, few=few) for words in by_language.values()}
    return Lexemes(
        tuple(by_language),
        tuple(" | ".join(word for word, _ in words) for words in by_language.values()),
        " | ".join(sorted(matched)),
    )


def are_few(rows: QuerySet[Any]) -> bool:
    """Return True if there are few enough rows to compare with a query one by one."""
    return bool(rows.order_by()[: MOST_MATCHED + 1].count() <= MOST_MATCHED)


def _match(words: list[tuple[str, bool]], *, few: bool) -> str:
    rare = [word for word, common in words if few or not common]
    return " | ".join(rare) if rare else f"({' & '.join(word for word, _ in words)})"
