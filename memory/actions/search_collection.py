# ruff: noqa: S608  the statement consists of constants and the SQL of query sets
"""Search of a vector collection: by words, by meaning, or by the program's own vector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import F

from heartbit_site.base.untrusted import clean_json
from memory.actions.collections import vector_problem
from memory.embeddings import table
from memory.embeddings.embedder import Vector
from memory.embeddings.meaning import (
    GIVEN,
    Meaning,
    collected_not_embedded,
    find_meaning,
    rankings_of,
)
from memory.errors import InvalidCollectionError
from memory.lexical import find_lexemes, fused
from memory.models import Collection, CollectionItem


@dataclass(frozen=True, slots=True)
class ItemHit:
    """A matching item.

    Attributes:
        item: The item.
        score: From 0 to 1, for the best by all rankings.
        similarity: Cosine of its vector and the query's; None: one of them has none.
    """

    item: CollectionItem
    score: float
    similarity: float | None


@dataclass(frozen=True, slots=True)
class FoundItems:
    """Answer of a search, the best first; ``basis`` is its method, for people."""

    hits: list[ItemHit]
    basis: str


def search_collection(
    collection: Collection,
    *,
    query: str = "",
    vector: Vector | None = None,
    metadata: Mapping[str, Any] | None = None,
    limit: int = 10,
) -> FoundItems:
    """Return the items that match best.

    Args:
        collection: The collection.
        query: Words, or a question; where programs give the vectors, by words alone.
        vector: A vector of the collection's dimensions.
        metadata: What the metadata of each hit has to contain.
        limit: Number of hits at most.

    Raises:
        InvalidCollectionError: There is neither query nor vector, or the vector is not valid.
    """
    query = query.strip()
    if not query and not vector:
        raise InvalidCollectionError("Give a query, or a vector.")
    meaning = _meaning(collection, query, vector)
    rows = CollectionItem.objects.order_by().filter(collection=collection)
    if metadata:
        rows = rows.filter(metadata__contains=clean_json(dict(metadata)))
    lexemes = find_lexemes(rows, query)
    rankings = rankings_of(rows, lexemes, meaning, table.COLLECTED, F("id") + 0)
    if not rankings:
        return FoundItems([], meaning.basis)
    ranked, values = fused(rankings)
    words = [list(lexemes.languages), list(lexemes.words)]
    given: list[Any] = [*words, *values, limit]
    if meaning.vector:
        given = [*words, *values, limit, meaning.vector]
    best = table.fetch_ranked(
        _statement(ranked, meaning.dimensions), given, by_meaning=bool(meaning.vector)
    )
    items = CollectionItem.objects.defer("search").in_bulk([row[0] for row in best])
    hits = [ItemHit(items[pk], score, similar) for pk, score, similar in best if pk in items]
    return FoundItems(hits, meaning.basis)


def _meaning(collection: Collection, query: str, vector: Vector | None) -> Meaning:
    if collection.dimensions is None:
        if vector:
            raise InvalidCollectionError("The collection embeds texts: give a query, not a vector.")
        waiting = partial(collected_not_embedded, collection.workspace_id)
        return find_meaning(collection.workspace_id, query, waiting=waiting)
    if not vector:
        return Meaning("words only: no vector was given")
    if problem := vector_problem(collection.dimensions, vector):
        raise InvalidCollectionError(f"The search {problem}.")
    basis = "words and the given vector" if query else "the given vector"
    return Meaning(basis, GIVEN, table.to_sql(vector), len(vector))


def _statement(ranked: str, size: int) -> str:
    """Return the statement; its values are the languages, their words, the rankings', the limit."""
    similarity, vectors = "NULL::float8", ""
    if size:
        similarity = f"1 - (e.vector::halfvec({size}) <=> %s::halfvec({size}))"
        vectors = f"""
            LEFT JOIN {table.COLLECTED.name} e ON e.item_id = h.id
            AND vector_dims(e.vector) = {size}"""
    return f"""
    WITH asked AS (SELECT * FROM unnest(%s::text[], %s::tsquery[]) a(language, words)),
    hits AS (
        SELECT id, relevance AS score FROM ({ranked}) ORDER BY relevance DESC, id LIMIT %s
    )
    SELECT h.id, h.score, {similarity} FROM hits h {vectors} ORDER BY h.score DESC, h.id
    """
