# ruff: noqa: S608  the statement consists of constants and the SQL of a query set
"""The meaning of a query: its vector, and the ranking by the distance to it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q, QuerySet

from memory.embeddings import table
from memory.embeddings.embedder import EmbeddingError, make_embedder
from memory.embeddings.table import VectorTable
from memory.lexical import Lexemes, Ranking, are_few, by_words
from memory.models import CollectionItem, KnowledgeBase, MemoryItem, MemoryPolicy, Passage
from memory.querysets import MemoryQuerySet

logger = logging.getLogger(__name__)

BY_WORDS: Final = "words only: there is no embedding model"
_NO_ANSWER: Final = "words only: the embedding model does not answer"
_PARTLY: Final = "words, and meaning where texts are embedded"
#: ``embedded_with`` of an item whose vector a program gave.
GIVEN: Final = "given"
_BY_MEANING: Final = "words and meaning"


@dataclass(frozen=True, slots=True)
class Meaning:
    """A query's vector.

    Attributes:
        basis: Method of the search, for people.
        model: The model that made the vector.
        vector: As pgvector reads it; empty: none.
        dimensions: Number of its dimensions.
    """

    basis: str
    model: str = ""
    vector: str = ""
    dimensions: int = 0


def find_meaning(
    workspace_id: int | None, query: str, *, waiting: Callable[[str], QuerySet[Any]]
) -> Meaning:
    """Return the meaning of a query; without a vector if there is no model or it does not answer.

    Args:
        workspace_id: The workspace whose model is asked; None: no model.
        query: The query; empty: no model is asked.
        waiting: Returns the rows that have no vector of a model yet.
    """
    if workspace_id is None or not query:
        return Meaning(BY_WORDS)
    policy = MemoryPolicy.objects.filter(workspace=workspace_id).exclude(embedding_model="").first()
    if policy is None or not policy.dimensions:
        return Meaning(BY_WORDS)
    try:
        vector = make_embedder(workspace_id, policy.embedding_model).embed_query(query)
    except EmbeddingError as error:
        logger.warning("recall by words only in workspace %d: %s", workspace_id, error)
        return Meaning(_NO_ANSWER)
    if len(vector) != policy.dimensions:
        return Meaning(_NO_ANSWER)
    model = policy.embedding_model
    basis = _PARTLY if waiting(model).exists() else _BY_MEANING
    return Meaning(basis, model, table.to_sql(vector), len(vector))


def not_embedded(workspace_id: int, model: str) -> MemoryQuerySet:
    """Return the live memories without a vector of the model, except those that it refused."""
    return MemoryItem.objects.live().filter(_other(model), workspace_id=workspace_id)


def passages_not_embedded(bases: QuerySet[KnowledgeBase], model: str) -> QuerySet[Passage]:
    """Return the bases' passages without a vector of the model, except those that it refused."""
    return Passage.objects.filter(_other(model), base__in=bases)


def collected_not_embedded(workspace_id: int, model: str) -> QuerySet[CollectionItem]:
    """Return items of collections to embed without a vector of the model; see above."""
    mine = CollectionItem.objects.filter(
        collection__workspace=workspace_id, collection__dimensions=None
    )
    return mine.filter(_other(model))


def _other(model: str) -> Q:
    other = Q(embedded_with__lt=model) | Q(embedded_with__gt=model)  # unlike <>, in the index
    return other & ~Q(embedded_with=table.refused_by(model))


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


def rankings_of(
    rows: QuerySet[Any], lexemes: Lexemes, meaning: Meaning, stored_in: VectorTable, order: Any
) -> list[Ranking]:
    """Return the rankings of rows by a query: by its words, and by its meaning if it has a vector.

    Args:
        rows: The rows to search.
        lexemes: The words of the query.
        meaning: The meaning of the query.
        stored_in: The table of the rows' vectors.
        order: Order in which matching rows are taken, if there are too many to rank.
    """
    rankings = []
    if lexemes.match:
        matching = lexemes.candidates(rows, order).values("id", "language", "search")
        rankings.append(by_words(*matching.query.sql_with_params()))
    if meaning.vector:
        embedded = rows.order_by().filter(embedded_with=meaning.model).values("id")
        sql = embedded.query.sql_with_params()
        rankings.append(by_meaning(stored_in, *sql, meaning, few=are_few(rows)))
    return rankings


def reasons_of(words: Sequence[str], nearness: int | None) -> list[str]:
    """Return why a row was found, for people: by the words it has, or by how near it is."""
    found = [f"has {', '.join(words)}"] if words else []
    if nearness is not None:
        found.append("closest in meaning" if nearness == 1 else "close in meaning")
    return found
