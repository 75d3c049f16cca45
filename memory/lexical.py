"""Words of a query: the lexemes to look for, in each language, and those to rank by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db.models import BooleanField
from django.db.models.expressions import RawSQL

from heartbit_site.base.query import fetch_all

if TYPE_CHECKING:
    from memory.querysets import MemoryQuerySet

#: Memories that are ranked for one query, the last changed of those that match.
MOST_MATCHED: Final = 1_000

# Languages are read off their index, a row each. The statistics of the column list the commonest
# lexemes with their shares, of all workspaces; a lexeme that is not listed is in few memories.
_LEXEMES: Final = f"""
WITH RECURSIVE present AS (
    SELECT min(language) AS language FROM memory_memoryitem
    UNION ALL
    SELECT (SELECT min(m.language) FROM memory_memoryitem m WHERE m.language > p.language)
    FROM present p WHERE p.language IS NOT NULL
),
common AS (
    SELECT e.lexeme
    FROM pg_stats s
    JOIN pg_class c ON c.oid = to_regclass(s.tablename),
    unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) e(lexeme, share)
    WHERE s.schemaname = current_schema() AND s.tablename = 'memory_memoryitem'
        AND s.attname = 'search' AND e.share * c.reltuples > {MOST_MATCHED}
)
SELECT p.language, array_agg(array_to_tsvector(ARRAY[w.lexeme])::text ORDER BY w.lexeme),
    array_agg(w.lexeme IN (SELECT lexeme FROM common) ORDER BY w.lexeme)
FROM present p, unnest(to_tsvector(p.language::regconfig, %s)) w
WHERE p.language IS NOT NULL
GROUP BY p.language
"""  # noqa: S608  a constant


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

    def candidates(self, rows: MemoryQuerySet) -> MemoryQuerySet:
        """Return the last changed of the rows that match."""
        matches = RawSQL(
            "memory_memoryitem.search @@ %s::tsquery", [self.match], output_field=BooleanField()
        )
        return rows.filter(matches).order_by("-updated_at")[:MOST_MATCHED]


NO_LEXEMES: Final = Lexemes((), (), "")


def find_lexemes(rows: MemoryQuerySet, query: str) -> Lexemes:
    """Return the words of a query.

    Words that are in more than ``MOST_MATCHED`` memories say little and are slow to look for. They
    find memories among few only; among many, those that have a rarer word of the query or, if it
    has none, all of its words. They always count in the ranking.
    """
    found = fetch_all(_LEXEMES, [query])
    by_language = {name: list(zip(*columns, strict=True)) for name, *columns in found}
    any_common = any(common for words in by_language.values() for _, common in words)
    few = not any_common or are_few(rows)
    matched = {_match(words, few=few) for words in by_language.values()}
    return Lexemes(
        tuple(by_language),
        tuple(" | ".join(word for word, _ in words) for words in by_language.values()),
        " | ".join(sorted(matched)),
    )


def are_few(rows: MemoryQuerySet) -> bool:
    """Return True for as many rows as may be compared with a query one by one."""
    return bool(rows.order_by()[: MOST_MATCHED + 1].count() <= MOST_MATCHED)


def _match(words: list[tuple[str, bool]], *, few: bool) -> str:
    rare = [word for word, common in words if few or not common]
    return " | ".join(rare) if rare else f"({' & '.join(word for word, _ in words)})"
