"""Column and indexes of vectors, which exist only where PostgreSQL has the extension pgvector.

The vectors are ``halfvec``: two bytes a dimension. Models differ in their number of dimensions,
and an index has one number: there is an index for each.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from django.db import ProgrammingError, transaction

from heartbit_site.base.query import execute, fetch_all, fetch_one
from memory.embeddings.protocol import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.embeddings.protocol import Vector

logger = logging.getLogger(__name__)

_HAS_COLUMN: Final = """
SELECT EXISTS (SELECT 1 FROM pg_attribute
    WHERE attrelid = to_regclass('memory_embedding') AND attname = 'vector' AND NOT attisdropped)
"""
_AVAILABLE: Final = "SELECT EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector')"
_STORE: Final = """
WITH stored AS (
    INSERT INTO memory_embedding (item_id, vector)
    SELECT m.id, g.vector::halfvec
    FROM unnest(%s::bigint[], %s::text[], %s::text[]) g(id, text, vector)
    JOIN (SELECT id, text FROM memory_memoryitem WHERE id = ANY(%s) FOR UPDATE) m
        ON m.id = g.id AND m.text = g.text
    ON CONFLICT (item_id) DO UPDATE SET vector = EXCLUDED.vector
    RETURNING item_id
)
UPDATE memory_memoryitem SET embedded_with = %s WHERE id IN (SELECT item_id FROM stored)
"""


def has_vectors() -> bool:
    """Return True if the database can keep vectors."""
    (found,) = fetch_one(_HAS_COLUMN)
    return bool(found)


def add_column() -> bool:
    """Add the column of vectors, and return True; False: there is no pgvector 0.7 or later."""
    (available,) = fetch_one(_AVAILABLE)
    if not available:
        return False
    try:
        with transaction.atomic():
            execute("CREATE EXTENSION IF NOT EXISTS vector")
            execute("ALTER TABLE memory_embedding ADD COLUMN IF NOT EXISTS vector halfvec NOT NULL")
    except ProgrammingError as error:  # no right to create it, or a pgvector before 0.7
        logger.warning("memories are recalled by words alone: %s", error)
        return False
    return True


def require_index(dimensions: int) -> None:
    """Create the index of vectors of a number of dimensions, unless it exists.

    Raises:
        EmbeddingError: PostgreSQL has no pgvector.
    """
    if not has_vectors() and not add_column():
        raise EmbeddingError(
            "This PostgreSQL has no extension `vector` that may be used: install pgvector 0.7 or "
            "later, or recall by words alone."
        )
    size = int(dimensions)
    with transaction.atomic():
        # A foreign key that is to be checked at the end would forbid the index.
        execute("SET CONSTRAINTS ALL IMMEDIATE")
        execute(
            f"CREATE INDEX IF NOT EXISTS memory_embedding_{size} ON memory_embedding "
            f"USING hnsw ((vector::halfvec({size})) halfvec_cosine_ops) "
            f"WHERE vector_dims(vector) = {size}"
        )


def store(model: str, texts: dict[int, str], vectors: Sequence[Vector]) -> int:
    """Store the vectors of memories, except of those whose text has changed; return their number.

    Args:
        model: The model that made them.
        texts: The embedded texts by the memories' ids.
        vectors: In the order of the texts.
    """
    ids = list(texts)
    written = [to_sql(vector) for vector in vectors]
    return execute(_STORE, [ids, list(texts.values()), written, ids, model])


def to_sql(vector: Vector) -> str:
    """Return a vector as pgvector reads it."""
    return f"[{','.join(f'{each:.6g}' for each in vector)}]"


def scan_on() -> None:
    """Let index scans of this transaction continue until enough rows pass the other conditions."""
    fetch_all(
        "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true), "
        "set_config('hnsw.ef_search', '100', true)"
    )
