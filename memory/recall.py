"""Recall: the memories that fit a query best, each with the reasons.

Recall is lexical: it finds words, in the grammar of each text's language, and no synonyms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from heartbit_site.base import amounts
from heartbit_site.base.query import fetch_all
from memory.lexical import Lexemes, find_lexemes
from memory.models import MemoryItem
from memory.scoring import Weights, statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.querysets import MemoryQuerySet

_MARKED: Final = re.compile("\x02([^\x03]*)\x03")
_MOST_WORDS: Final = 5


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that fits.

    Attributes:
        item: The memory.
        score: From 0 to 1.
        relevance: Part of the score, from 0 to 1, as the three below.
        recency: See ``memory.scoring``.
        importance: See ``memory.scoring``.
        strength: See ``memory.scoring``.
        words: Words of the memory that the query has too.
    """

    item: MemoryItem
    score: float
    relevance: float
    recency: float
    importance: float
    strength: float
    words: tuple[str, ...]

    @property
    def why(self) -> str:
        """The reasons in plain words."""
        item = self.item
        now = timezone.now()
        found = f"has {', '.join(self.words)}" if self.words else "asked for without a query"
        learned = f"learned {amounts.duration(now - item.updated_at)} ago"
        used = "not recalled before"
        if item.used_at is not None:
            times = "once" if item.use_count == 1 else f"{item.use_count} times"
            used = f"recalled {times}, last {amounts.duration(now - item.used_at)} ago"
        return f"{found}; {learned}; importance {item.importance} of 10; {used}"


def recall(
    rows: MemoryQuerySet,
    query: str,
    *,
    limit: int,
    weights: Weights | None = None,
    least_score: float = 0.0,
) -> list[Hit]:
    """Return the memories that fit a query best, the best first.

    Args:
        rows: The memories that may be found, which is the only bound on their owners.
        query: Words to look for; empty: all, by recency, importance and strength.
        limit: Number of hits at most.
        weights: Weights of the parts; None: the usual ones.
        least_score: Score from which a memory is a hit, from 0 to 1.
    """
    query = query.strip()
    lexemes = find_lexemes(rows, query) if query else Lexemes((), (), "")
    if query and not lexemes.match:
        return []
    candidates = (
        lexemes.candidates(rows).values("id", "language", "search")
        if query
        else rows.order_by().values("id")
    )
    sql, values = candidates.query.sql_with_params()
    shares = (weights or Weights()).values()
    words = (list(lexemes.languages), list(lexemes.words))
    found = fetch_all(
        statement(sql, by_query=bool(query)), [*values, *words, *shares, least_score, limit]
    )
    items = MemoryItem.objects.select_related("user").in_bulk([row[0] for row in found])
    return [
        Hit(items[pk], score, relevance, recency, importance, strength, _words(marked))
        for pk, score, relevance, recency, importance, strength, marked in found
        if pk in items  # it may have been erased in between
    ]


def strengthen(items: Iterable[MemoryItem]) -> None:
    """Count one use of each memory."""
    ids: Sequence[int] = [item.pk for item in items]
    MemoryItem.objects.filter(pk__in=ids).update(use_count=F("use_count") + 1, used_at=Now())


def _words(marked: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_MARKED.findall(marked)))[:_MOST_WORDS]
