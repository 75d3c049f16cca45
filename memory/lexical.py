"""Language of a text, and words of a query: the lexemes to search for and to rank by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.db.models import BooleanField, QuerySet
from django.db.models.expressions import RawSQL

from heartbit_site.base.query import fetch_all, fetch_one

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
