"""Recall: the memories that fit a query best, each with the reasons.

It searches by words, with the grammar of each text's language, and by meaning if the workspace has
an embedding model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from heartbit_site.base import amounts
from memory.embeddings import table
from memory.embeddings.meaning import by_meaning, find_meaning, not_embedded
from memory.fusion import by_words, fused, unranked
from memory.lexical import NO_LEXEMES, are_few, find_lexemes
from memory.models import MemoryItem
from memory.querysets import MemoryQuerySet
from memory.scoring import Weights, marked_words, statement


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that matches a query.

    Attributes:
        item: The memory.
        score: From 0 to 1.
        relevance: Part of the score, from 0 to 1, as the three below.
        recency: See ``memory.scoring``.
        importance: See ``memory.scoring``.
        strength: See ``memory.scoring``.
        nearness: Rank by meaning, from 1; None: it was not ranked by it.
        words: Words of the memory that the query has too.
    """

    item: MemoryItem
    score: float
    relevance: float
    recency: float
    importance: float
    strength: float
    nearness: int | None
    words: tuple[str, ...]

    @property
    def why(self) -> str:
        """The reasons in plain words."""
        item = self.item
        now = timezone.now()
        found = [f"has {', '.join(self.words)}"] if self.words else []
        if self.nearness is not None:
            found.append("closest in meaning" if self.nearness == 1 else "close in meaning")
        learned = f"learned {amounts.duration(now - item.updated_at)} ago"
        used = "not recalled before"
        if item.used_at is not None:
            times = "once" if item.use_count == 1 else f"{item.use_count} times"
            used = f"recalled {times}, last {amounts.duration(now - item.used_at)} ago"
        fits = " and ".join(found) or "asked for without a query"
        return f"{fits}; {learned}; importance {item.importance} of 10; {used}"


@dataclass(frozen=True, slots=True)
class Recalled:
    """Answer of recall.

    Attributes:
        hits: The memories, the best first.
        basis: Method of the search, for people: by words, or by words and meaning.
    """

    hits: list[Hit]
    basis: str


def recall(
    rows: MemoryQuerySet,
    query: str,
    *,
    limit: int,
    workspace_id: int | None = None,
    weights: Weights | None = None,
    least_score: float = 0.0,
) -> Recalled:
    """Return the memories that fit a query best, the best first.

    Args:
        rows: The memories to search; nothing else restricts their owners.
        query: Words to look for; empty: all, by recency, importance and strength.
        limit: Number of hits at most.
        workspace_id: The rows' workspace, whose embedding model ranks them by meaning too; None: by
            words only.
        weights: Weights of the parts; None: the defaults.
        least_score: Minimum score of a hit, from 0 to 1.
    """
    query = query.strip()
    lexemes = find_lexemes(rows, query) if query else NO_LEXEMES
    waiting = partial(not_embedded, workspace_id or 0)
    meaning = find_meaning(workspace_id, query, waiting=waiting)
    rankings = []
    if lexemes.match:
        matching = lexemes.candidates(rows, "-updated_at").values("id", "language", "search")
        rankings.append(by_words(*matching.query.sql_with_params()))
    if meaning.vector:
        embedded = rows.order_by().filter(embedded_with=meaning.model).values("id")
        few = are_few(rows)
        sql = embedded.query.sql_with_params()
        rankings.append(by_meaning(table.MEMORIES, *sql, meaning, few=few))
    if query and not rankings:
        return Recalled([], meaning.basis)
    every = rows.order_by().values("id").query.sql_with_params()
    found, values = fused(rankings) if rankings else unranked(*every)
    words = (list(lexemes.languages), list(lexemes.words))
    shares = (weights or Weights()).values()
    given = [*words, *values, *shares, least_score, limit]
    best = table.fetch_ranked(statement(found), given, by_meaning=bool(meaning.vector))
    # Few have a person, whose table a join would read for all.
    known = MemoryItem.objects.defer("search").prefetch_related("user")
    items = known.in_bulk([row[0] for row in best])
    # One may have been erased in between.
    hits = [_hit(items[pk], parts) for pk, *parts in best if pk in items]
    return Recalled(hits, meaning.basis)


def strengthen(items: Iterable[MemoryItem]) -> None:
    """Count one use of each memory."""
    ids: Sequence[int] = [item.pk for item in items]
    MemoryItem.objects.filter(pk__in=ids).update(use_count=F("use_count") + 1, used_at=Now())


def _hit(item: MemoryItem, parts: Sequence[Any]) -> Hit:
    score, relevance, recency, importance, strength, nearness, marked = parts
    words = marked_words(marked)
    return Hit(item, score, relevance, recency, importance, strength, nearness, words)
