"""Tables that a transaction has changed, their columns, and the parts that are not shown."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import groupby

from django.db.backends.utils import CursorWrapper
from psycopg import sql

#: Rows inserted, updated and deleted, by the table's oid.
Counts = dict[int, tuple[int, int, int]]

#: Tables with rows of every workspace, and with secrets.
_OWN = ("agents_", "base_")
#: Shown, because its rows are the run's own; its keys are entry names, not secrets.
BLACKBOARD = "agents_blackboardentry"

_PARTS = ("password", "passwd", "passphrase", "passcode", "secret", "token", "credential")
_WORDS = {"apikey", "key", "keys", "otp", "pin", "salt", "session"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

# These numbers may include changes of the session just before the transaction.
_COUNTS = """
    SELECT relid, n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_xact_user_tables
    WHERE n_tup_ins + n_tup_upd + n_tup_del > 0
"""
# TRUNCATE and ALTER TABLE count no rows, but hold an exclusive lock on the table.
_SEIZED = """
    SELECT relation FROM pg_locks
    WHERE pid = pg_backend_pid() AND locktype = 'relation' AND granted
      AND mode = 'AccessExclusiveLock'
"""
# A key is cast to its type's name. For char(5), a type modifier of NULL gives character, which has
# a length of 1; -1 gives bpchar, which has the length of the value.
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
    """A column.

    Attributes:
        type: Its type as SQL.
        in_key: True if it is in the primary key.
        is_secret: True if its name is that of a secret, so that its values are not shown.
    """

    name: str
    type: str
    in_key: bool
    is_secret: bool

    @property
    def sql(self) -> str:
        """Quoted name, for a statement."""
        return quoted(self.name)


@dataclass(frozen=True, slots=True)
class Table:
    """A changed table.

    Attributes:
        label: Its name for people, with the schema unless that is the current one.
        sql: Its quoted name, for a statement.
        columns: Its columns, in order.
        counts: Rows inserted, updated and deleted, including rolled back ones.
        is_seized: True if it was truncated, altered, created or dropped.
    """

    name: str
    label: str
    sql: str
    columns: tuple[Column, ...]
    counts: tuple[int, int, int]
    is_seized: bool

    @property
    def key(self) -> tuple[Column, ...]:
        """Columns of the primary key; empty without a primary key."""
        return tuple(column for column in self.columns if column.in_key)


def is_own(table: str) -> bool:
    """Return True if a table is Heartbit's own, so that its rows are not shown."""
    return table.startswith(_OWN) and table != BLACKBOARD


def is_secret(table: str, column: str) -> bool:
    """Return True if a column is named like a secret (``password_hash``, ``apiKey``, ``token``)."""
    if table == BLACKBOARD:
        return False
    name = column.lower()
    words = {word.lower() for word in _WORD.findall(column)}
    return any(part in name for part in _PARTS) or not words.isdisjoint(_WORDS)


def quoted(*names: str) -> str:
    """Quote a name for a statement with parameters."""
    return sql.Identifier(*names).as_string(None).replace("%", "%%")


def counted(cursor: CursorWrapper) -> Counts:
    """Return the session's row counts; only the difference to a later count is exact."""
    cursor.execute(_COUNTS)
    return {oid: (added, updated, gone) for oid, added, updated, gone in cursor.fetchall()}


def changed(cursor: CursorWrapper, outside: CursorWrapper, before: Counts) -> list[Table]:
    """Return the tables that the transaction has changed since ``before``, by name.

    Args:
        cursor: Cursor in the transaction.
        outside: Cursor of another session, which still sees dropped tables.
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
    """Return those of the relations that are user tables."""
    cursor.execute(_COLUMNS, [list(oids)])
    found = {}
    for (oid, schema, name, usual), rows in groupby(cursor.fetchall(), key=lambda row: row[:4]):
        found[oid] = Table(
            name=name,
            label=name if usual else f"{schema}.{name}",
            sql=quoted(schema, name),
            columns=tuple(
                Column(column, kind, in_key, is_secret(name, column))
                for *_, column, kind, in_key in rows
            ),
            counts=counts.get(oid, (0, 0, 0)),
            is_seized=oid in seized,
        )
    return found
