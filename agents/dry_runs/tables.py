"""Which tables a transaction has changed, and what they are made of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from django.db.backends.utils import CursorWrapper

#: Rows inserted, updated and deleted, by the table's oid.
Counts = dict[int, tuple[int, int, int]]

# Not the transaction's alone: what the session did just before it may still be in these numbers.
_COUNTS = """
    SELECT relid, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_xact_user_tables
    WHERE n_tup_ins + n_tup_upd + n_tup_del > 0
"""
# TRUNCATE counts no rows, and neither does ALTER TABLE; both hold the table against everybody.
_SEIZED = """
    SELECT relation FROM pg_locks
    WHERE pid = pg_backend_pid() AND locktype = 'relation' AND granted
      AND mode = 'AccessExclusiveLock'
"""
# A key is cast to its type's name. Of NULL that of char(5) is character, which is one character
# long; of -1 it is bpchar, which is as long as what is cast.
_COLUMNS = """
    SELECT c.oid, n.nspname, c.relname, n.nspname = current_schema(), a.attname,
           format_type(a.atttypid, -1), coalesce(a.attnum = ANY (i.indkey), false)
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
    WHERE c.oid = ANY (%s::oid[]) AND c.relkind IN ('r', 'p')
      AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    ORDER BY n.nspname, c.relname, a.attnum
"""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, its type as SQL, and whether the primary key has it."""

    name: str
    type: str
    in_key: bool

    @property
    def sql(self) -> str:
        """Its name in a statement."""
        return quoted(self.name)


@dataclass(frozen=True, slots=True)
class Table:
    """A table that was changed.

    Attributes:
        label: Its name for people, with the schema where it is not the usual one.
        sql: Its name in a statement.
        columns: In their order.
        counts: How many rows were inserted, updated and deleted, also by what was undone again.
        is_seized: It was emptied as a whole, altered, made or dropped.
    """

    name: str
    label: str
    sql: str
    columns: tuple[Column, ...]
    counts: tuple[int, int, int]
    is_seized: bool

    @property
    def key(self) -> tuple[Column, ...]:
        """The columns of its primary key; empty: it has none."""
        return tuple(column for column in self.columns if column.in_key)


def quoted(*names: str) -> str:
    """A name for a statement with parameters."""
    return sql.Identifier(*names).as_string(None).replace("%", "%%")


def counted(cursor: CursorWrapper) -> Counts:
    """What the transaction has done so far, and more: only a later count minus this one is true."""
    cursor.execute(_COUNTS)
    return {oid: (added, updated, gone) for oid, added, updated, gone in cursor.fetchall()}


def changed(cursor: CursorWrapper, outside: CursorWrapper, before: Counts) -> list[Table]:
    """The tables that the transaction has changed since it was counted, by name.

    Args:
        cursor: In the transaction.
        outside: Of another session, which knows the tables that the transaction dropped.
        before: The earlier count.
    """
    counts = _since(before, counted(cursor))
    cursor.execute(_SEIZED)
    seized = {oid for (oid,) in cursor.fetchall()}
    found = _described(cursor, counts.keys() | seized, counts, seized)
    dropped = seized - found.keys()
    found |= _described(outside, dropped, counts, seized)
    return sorted(found.values(), key=lambda table: table.label)


def _since(before: Counts, now: Counts) -> Counts:
    """What was counted in between."""
    found = {}
    for oid, (added, updated, gone) in now.items():
        was = before.get(oid, (0, 0, 0))
        if was != (added, updated, gone):
            found[oid] = (added - was[0], updated - was[1], gone - was[2])
    return found


def _described(
    cursor: CursorWrapper,
    oids: Collection[int],
    counts: Mapping[int, tuple[int, int, int]],
    seized: Collection[int],
) -> dict[int, Table]:
    """Those of these relations that are tables of users."""
    cursor.execute(_COLUMNS, [list(oids)])
    found = {}
    for (oid, schema, name, usual), rows in groupby(cursor.fetchall(), key=lambda row: row[:4]):
        found[oid] = Table(
            name=name,
            label=name if usual else f"{schema}.{name}",
            sql=quoted(schema, name),
            columns=tuple(Column(column, kind, in_key) for *_, column, kind, in_key in rows),
            counts=counts.get(oid, (0, 0, 0)),
            is_seized=oid in seized,
        )
    return found
