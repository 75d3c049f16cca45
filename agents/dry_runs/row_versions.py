"""Rows that an open transaction wrote or deleted, found by the transaction ids in the rows.

Each row version names the transaction that wrote it (``xmin``) and the one that ended it
(``xmax``). A savepoint has an id of its own from the same counter, so an open transaction's rows
carry ids from its own to the last one issued; of these, the ids in progress are its own, because
uncommitted rows of others are invisible. A transaction cannot see the rows that it deleted, but
another session can, as of the last commit. There the ids only yield candidates: a candidate that
the transaction does not see is deleted.

Simpler methods were measured and miss rows: docs/decisions/0022.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.backends.utils import CursorWrapper

from agents.dry_runs.tables import Column, Table

#: A row's primary key, each column as text.
Key = tuple[str, ...]
#: A value: its beginning, its length in characters, and a hash of the whole; each None for NULL.
Value = tuple[str | None, str | None, str | None]
#: A row's values by column.
Values = dict[str, Value]
#: Ids that rows of the transaction may carry: ``first``, its own; ``span``, how many were issued
#: after it, to any transaction; ``multi``, the first multixact that it could have created;
#: ``multis``, how many were created since, by any transaction.
Ids = dict[str, int]

SHOWN_CHARACTERS = 200
MOST_CANDIDATES = 10_000

# Rows hold 32 bits of the 64: differences are taken modulo 2^32, so that a wrap does not matter.
_WRITTEN = "((t.xmin::text::bigint - %(first)s) & 4294967295)"
_ENDED = "((t.xmax::text::bigint - %(first)s) & 4294967295)"
# ``xmax`` is a multixact for a row that was locked first and deleted in a later savepoint.
_ENDED_BY_SEVERAL = "((t.xmax::text::bigint - %(multi)s) & 4294967295)"
_MINE = f"""
    CASE WHEN {_WRITTEN} <= %(span)s
         THEN pg_xact_status((%(first)s + {_WRITTEN})::text::xid8) = 'in progress'
         ELSE false END
"""


def own_id(cursor: CursorWrapper) -> int:
    """Return the id of a session's transaction, assigning one if it has none yet."""
    return int(_value_of(cursor, "SELECT pg_current_xact_id()::text"))


def is_undone(cursor: CursorWrapper, first: int) -> bool:
    """Return True if the transaction of a lost session was rolled back, or is about to be.

    Args:
        cursor: Cursor of another session.
        first: The transaction's id.
    """
    status = _value_of(cursor, "SELECT pg_xact_status(%s::text::xid8)", str(first))
    return status in {"aborted", "in progress"}


def next_multi(cursor: CursorWrapper) -> int:
    """Return the next multixact id."""
    return (int(_value_of(cursor, "SELECT mxid_age('1'::xid)")) + 1) % 2**32


def _value_of(cursor: CursorWrapper, query: str, *values: str) -> Any:
    cursor.execute(query, values)
    return cursor.fetchone()[0]


def written(
    cursor: CursorWrapper, table: Table, ids: Ids, *, most: int
) -> tuple[list[tuple[Key, Values]], int]:
    """Return the row versions that the transaction wrote, by key, and their total number."""
    key = ", ".join(column.sql for column in table.key)
    cursor.execute(
        f"SELECT count(*) OVER (), {_key(table)}, {_values(table)} "  # noqa: S608
        f"FROM ONLY {table.sql} AS t WHERE {_MINE} ORDER BY {key} LIMIT {most}",
        ids,
    )
    rows = cursor.fetchall()
    total = rows[0][0] if rows else 0
    return [(tuple(key), _named(table, values)) for _, key, values in rows], total


def candidates(outside: CursorWrapper, table: Table, ids: Ids) -> list[Key]:
    """Return keys of rows that the transaction may have deleted; some were only changed or locked.

    Args:
        outside: Cursor of a session that still sees the rows.
        table: The table.
        ids: Ids of the transaction.
    """
    outside.execute(
        f"SELECT {_key(table)} FROM ONLY {table.sql} AS t "  # noqa: S608
        f"WHERE {_ENDED} <= %(span)s OR {_ENDED_BY_SEVERAL} < %(multis)s LIMIT {MOST_CANDIDATES}",
        ids,
    )
    return [tuple(key) for (key,) in outside.fetchall()]


def missing(cursor: CursorWrapper, table: Table, keys: Sequence[Key]) -> list[Key]:
    """Return the keys that a session does not see, in the order of their values."""
    if not keys:
        return []
    wanted = ", ".join(f"w.k{index}" for index, _ in enumerate(table.key))
    texts = ", ".join(f"w.k{index}::text" for index, _ in enumerate(table.key))
    cursor.execute(
        f"SELECT ARRAY[{texts}] FROM {_wanted(table)} WHERE NOT EXISTS "  # noqa: S608
        f"(SELECT 1 FROM ONLY {table.sql} AS t WHERE {_same(table)}) ORDER BY {wanted}",
        _columns_of(keys),
    )
    return [tuple(key) for (key,) in cursor.fetchall()]


def rows_of(cursor: CursorWrapper, table: Table, keys: Sequence[Key]) -> dict[Key, Values]:
    """Return the rows with these keys, as a session sees them."""
    if not keys:
        return {}
    cursor.execute(
        f"SELECT {_key(table)}, {_values(table)} "  # noqa: S608
        f"FROM ONLY {table.sql} AS t JOIN {_wanted(table)} ON {_same(table)}",
        _columns_of(keys),
    )
    return {tuple(key): _named(table, values) for key, values in cursor.fetchall()}


def _key(table: Table) -> str:
    return "ARRAY[" + ", ".join(f"t.{column.sql}::text" for column in table.key) + "]"


def _values(table: Table) -> str:
    """Select a row's values; a secret only as a hash, which shows whether it changes."""
    return "ARRAY[" + ", ".join(map(_value, table.columns)) + "]"


def _value(column: Column) -> str:
    text = f"t.{column.sql}::text"
    if column.is_secret:
        return f"ARRAY[NULL::text, NULL, md5({text})]"
    return f"ARRAY[left({text}, {SHOWN_CHARACTERS}), length({text})::text, md5({text})]"


def _named(table: Table, values: Sequence[Sequence[str | None]]) -> Values:
    pairs = zip(table.columns, values, strict=True)
    return {column.name: (start, length, digest) for column, (start, length, digest) in pairs}


def _wanted(table: Table) -> str:
    """Select the requested keys as a table with the key's types."""
    places = [f"%(k{index})s::text[]::{column.type}[]" for index, column in enumerate(table.key)]
    names = ", ".join(f"k{index}" for index, _ in enumerate(table.key))
    return f"unnest({', '.join(places)}) AS w({names})"


def _same(table: Table) -> str:
    return " AND ".join(f"t.{column.sql} = w.k{index}" for index, column in enumerate(table.key))


def _columns_of(keys: Sequence[Key]) -> dict[str, list[str]]:
    return {f"k{index}": list(texts) for index, texts in enumerate(zip(*keys, strict=True))}
