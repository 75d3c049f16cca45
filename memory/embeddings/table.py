# ruff: noqa: S608  the statements consist of constants
"""Columns and indexes of vectors, which exist only where PostgreSQL has the extension pgvector.

The vectors are ``halfvec``: two bytes a dimension. Models differ in their number of dimensions,
and an index has one number: there is an index for each.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import ProgrammingError, transaction

from heartbit_site.base.query import execute, fetch_all, fetch_one
from memory.embeddings.embedder import EmbeddingError, Vector

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class VectorTable:
    """A table of vectors.

    Attributes:
        name: The table; its column ``vector`` has them.
        key: Its key, the id of the row that a vector belongs to.
        owner: The table of those rows, with the columns ``text`` and ``embedded_with``.
    """

    name: str
    key: str
    owner: str


MEMORIES: Final = VectorTable("memory_embedding", "item_id", "memory_memoryitem")
PASSAGES: Final = VectorTable("memory_passage_embedding", "passage_id", "memory_passage")
COLLECTED: Final = VectorTable("memory_collection_embedding", "item_id", "memory_collectionitem")
TABLES: Final = (MEMORIES, PASSAGES, COLLECTED)

_MOST_MARK: Final = 200  # characters of ``embedded_with``

_COLUMNS: Final = """
SELECT count(*) FROM pg_attribute
WHERE attrelid IN (SELECT to_regclass(name) FROM unnest(%s::text[]) name)
AND attname = 'vector' AND NOT attisdropped
"""
_AVAILABLE: Final = "SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector')"


def has_vectors() -> bool:
    """Return True if the database can store vectors."""
    (found,) = fetch_one(_COLUMNS, [[table.name for table in TABLES]])
    return int(found) == len(TABLES)


def add_column() -> bool:
    """Add the columns of vectors, and return True; False: there is no pgvector 0.7 or later."""
    (available,) = fetch_one(_AVAILABLE)
    if not available:
        return False
    try:
        with transaction.atomic():
            execute("CREATE EXTENSION IF NOT EXISTS vector")
            for table in TABLES:  # in a migration, later ones may create some
                execute(
                    f"ALTER TABLE IF EXISTS {table.name} "
                    "ADD COLUMN IF NOT EXISTS vector halfvec NOT NULL"
                )
    except ProgrammingError as error:  # no right to create it, or a pgvector before 0.7
        logger.warning("memories and passages are found by words only: %s", error)
        return False
    return True


def require_index(dimensions: int) -> None:
    """Create the indexes of vectors of a number of dimensions, unless they exist.

    Raises:
        EmbeddingError: PostgreSQL has no pgvector.
    """
    if not has_vectors() and not add_column():
        raise EmbeddingError(
            "This PostgreSQL has no usable extension `vector`: install pgvector 0.7 or later, or "
            "recall by words only."
        )
    size = int(dimensions)
    with transaction.atomic():
        # A foreign key that is to be checked at the end would forbid the index.
        execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in TABLES:
            execute(
                f"CREATE INDEX IF NOT EXISTS {table.name}_{size} ON {table.name} "
                f"USING hnsw ((vector::halfvec({size})) halfvec_cosine_ops) "
                f"WHERE vector_dims(vector) = {size}"
            )


def store(table: VectorTable, model: str, texts: dict[int, str], vectors: Sequence[Vector]) -> int:
    """Store the vectors of rows, except those whose text has changed; return their number.

    Args:
        table: Their table.
        model: The model that made them.
        texts: The texts of the rows by their ids, as they were embedded.
        vectors: In the order of the texts.
    """
    ids = list(texts)
    written = [to_sql(vector) for vector in vectors]
    statement = f"""
    WITH stored AS (
        INSERT INTO {table.name} ({table.key}, vector)
        SELECT m.id, g.vector::halfvec
        FROM unnest(%s::bigint[], %s::text[], %s::text[]) g(id, text, vector)
        JOIN (SELECT id, text FROM {table.owner} WHERE id = ANY(%s) FOR UPDATE) m
            ON m.id = g.id AND m.text = g.text
        ON CONFLICT ({table.key}) DO UPDATE SET vector = EXCLUDED.vector
        RETURNING {table.key}
    )
    UPDATE {table.owner} SET embedded_with = %s WHERE id IN (SELECT {table.key} FROM stored)
    """
    return execute(statement, [ids, list(texts.values()), written, ids, model])


def refuse(table: VectorTable, model: str, texts: dict[int, str]) -> int:
    """Mark rows whose text a model refuses, and delete their vectors; return their number.

    Args:
        table: Their table.
        model: The model.
        texts: The texts of the rows by their ids; a row whose text has changed is not marked.
    """
    statement = f"""
    WITH refused AS (
        UPDATE {table.owner} m SET embedded_with = %s
        FROM unnest(%s::bigint[], %s::text[]) g(id, text) WHERE m.id = g.id AND m.text = g.text
        RETURNING m.id
    ), gone AS (
        DELETE FROM {table.name} WHERE {table.key} IN (SELECT id FROM refused)
    )
    SELECT count(*) FROM refused
    """
    (count,) = fetch_one(statement, [refused_by(model), list(texts), list(texts.values())])
    return int(count)


def refused_by(model: str) -> str:
    """Return the value of ``embedded_with`` of a row whose text the model refuses."""
    return f"!{model}"[:_MOST_MARK]


def to_sql(vector: Vector) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(f'{each:.6g}' for each in vector)}]"


def fetch_ranked(statement: str, values: Sequence[object], *, by_meaning: bool) -> list[Any]:
    """Return the rows of a statement that ranks.

    Args:
        statement: The statement.
        values: Values of its placeholders.
        by_meaning: True if it reads an index of vectors: the scan of the index then continues
            until enough rows pass the other conditions.
    """
    if not by_meaning:
        return fetch_all(statement, values)
    with transaction.atomic():
        fetch_all(
            "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), "
            "set_config('hnsw.ef_search', '100', true)"
        )
        return fetch_all(statement, values)
