# ruff: noqa: S608  the statement consists of constants and the SQL of query sets
"""Search of passages: by words and by meaning, fused (``memory.lexical``) in one SQL statement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from django.db.models import F, QuerySet

from memory.embeddings import table
from memory.embeddings.meaning import find_meaning, passages_not_embedded, rankings_of, reasons_of
from memory.lexical import find_lexemes, fused
from memory.models import KnowledgeBase, Passage
from memory.scoring import marked_text, marked_words


@dataclass(frozen=True, slots=True)
class PassageHit:
    """A passage that matches a query.

    Attributes:
        passage: The passage, with its document and base.
        score: From 0 to 1, for the best by all rankings.
        nearness: Rank by meaning, from 1; None if it was not ranked by meaning.
        words: Words that the passage shares with the query.
    """

    passage: Passage
    score: float
    nearness: int | None
    words: tuple[str, ...]

    @property
    def citation(self) -> str:
        """See ``Passage``."""
        return self.passage.citation

    @property
    def why(self) -> str:
        """The reasons in plain words."""
        return " and ".join(reasons_of(self.words, self.nearness)) or "its headings have the words"


@dataclass(frozen=True, slots=True)
class FoundPassages:
    """Answer of a search.

    Attributes:
        hits: The passages, the best first.
        basis: Method of the search, for people: by words, or by words and meaning.
    """

    hits: list[PassageHit]
    basis: str


def search_passages(
    bases: QuerySet[KnowledgeBase], query: str, *, workspace_id: int, limit: int
) -> FoundPassages:
    """Return the passages that match a query best, the best first.

    Args:
        bases: The knowledge bases that are searched, of one workspace.
        query: Words to search for, or a question; empty finds nothing.
        workspace_id: The workspace, whose embedding model ranks by meaning.
        limit: Number of hits at most.
    """
    query = query.strip()
    searched = list(bases.values_list("pk", flat=True))
    rows = Passage.objects.order_by().filter(base__in=searched)
    waiting = partial(passages_not_embedded, bases)
    meaning = find_meaning(workspace_id, query, waiting=waiting)
    if not searched:  # Django has no SQL for a query set that is always empty
        return FoundPassages([], meaning.basis)
    lexemes = find_lexemes(rows, query)
    # A sum has no index: with this order, the planner would read the whole table.
    rankings = rankings_of(rows, lexemes, meaning, table.PASSAGES, F("id") + 0)
    if not rankings:
        return FoundPassages([], meaning.basis)
    words = [list(lexemes.languages), list(lexemes.words)]
    found_rows, values = fused(rankings)
    given = [*words, *values, limit]
    best = table.fetch_ranked(_statement(found_rows), given, by_meaning=bool(meaning.vector))
    known = Passage.objects.defer("search").select_related("document", "base__workspace")
    passages = known.in_bulk([row[0] for row in best])
    hits = [
        PassageHit(passages[pk], score, nearness, marked_words(marked))
        for pk, score, nearness, marked in best
        if pk in passages  # one may have been deleted in between
    ]
    return FoundPassages(hits, meaning.basis)


def _statement(fused_rows: str) -> str:
    """Return the statement; its values are the languages, their words, the rankings', the limit."""
    return f"""
    WITH asked AS (SELECT * FROM unnest(%s::text[], %s::tsquery[]) a(language, words)),
    hits AS (
        SELECT id, relevance AS score, nearness
        FROM ({fused_rows}) ORDER BY relevance DESC, id LIMIT %s
    )
    SELECT h.id, h.score, h.nearness, {marked_text("p")} AS marked
    FROM hits h JOIN memory_passage p USING (id)
    ORDER BY h.score DESC, h.id
    """
