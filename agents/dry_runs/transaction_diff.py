"""Changes of an open transaction, read before its rollback."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg
from django.db import DatabaseError, Error, connection, transaction
from django.db.backends.utils import CursorWrapper

from agents.dry_runs import row_versions, tables
from agents.dry_runs.changes_view import (
    CellOut,
    ColumnChangeOut,
    KeyPartOut,
    RowChangeKind,
    RowChangeOut,
    TableChangeOut,
)
from agents.dry_runs.row_versions import Ids, Key, Value, Values
from agents.dry_runs.tables import Column, Counts, Table

MOST_TABLES = 20
MOST_ROWS = 50
READING_SECONDS = 4.0
_STATEMENT_SECONDS = 2.0
_LOCK_SECONDS = 0.5

_WHY = {"57014": "too large to be searched in time", "55P03": "locked as a whole"}


@dataclass(frozen=True, slots=True)
class Start:
    """State of the transaction before the tool runs.

    Attributes:
        first: The transaction's id.
        multi: The next multixact id.
        counts: Changed rows of each table.
    """

    first: int
    multi: int
    counts: Counts


def begin() -> Start:
    """Record the state of the transaction before the tool runs."""
    with connection.cursor() as cursor:
        return Start(
            row_versions.own_id(cursor), row_versions.next_multi(cursor), tables.counted(cursor)
        )


def read(start: Start) -> tuple[list[TableChangeOut], int]:
    """Return the changes since then, and the number of changed tables that are not shown."""
    until = time.monotonic() + READING_SECONDS
    with connection.cursor() as cursor, _second_session() as outside:
        _limit(cursor)
        found = tables.changed(cursor, outside, start.counts)
        ids = _ids(start, outside)
        shown = [_table(cursor, outside, one, ids, until) for one in found[:MOST_TABLES]]
    return [one for one in shown if one is not None], max(0, len(found) - MOST_TABLES)


def is_same(start: Start) -> bool:
    """Return True if the transaction is still the one of ``start``."""
    with connection.cursor() as cursor:
        return row_versions.own_id(cursor) == start.first


def was_undone(start: Start) -> bool:
    """Return True if the session was lost within the transaction, which rolled it back.

    The server ends a session whose tool sends no statement for too long (``limit``).
    """
    if connection.connection is not None and not connection.connection.closed:
        return False
    try:
        with _second_session() as outside:
            return row_versions.is_undone(outside, start.first)
    except Error:
        return False


def limit(cursor: CursorWrapper, *, statement: float, lock: float, idle: float) -> None:
    """Limit the time in seconds for which this transaction may block others.

    Args:
        cursor: Cursor in the transaction.
        statement: Limit for a single statement.
        lock: Limit for waiting for a lock.
        idle: Limit without a statement; then the server ends the session.
    """
    limits = {
        "statement_timeout": statement,
        "lock_timeout": lock,
        "idle_in_transaction_session_timeout": idle,
    }
    for name, seconds in limits.items():
        cursor.execute("SELECT set_config(%s, %s, true)", [name, str(round(seconds * 1000))])


def _limit(cursor: CursorWrapper) -> None:
    # Each of the two sessions is idle while the other one reads.
    limit(cursor, statement=_STATEMENT_SECONDS, lock=_LOCK_SECONDS, idle=3 * READING_SECONDS)


@contextmanager
def _second_session() -> Iterator[CursorWrapper]:
    """Open a cursor in another session, which does not see the transaction."""
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            yield cursor
    finally:
        other.close()


@contextmanager
def _one_look(cursor: CursorWrapper) -> Iterator[None]:
    """Run statements in a read-only transaction, which leaves the session as it was."""
    cursor.execute("BEGIN READ ONLY")
    try:
        _limit(cursor)
        yield
    finally:
        cursor.execute("ROLLBACK")


def _ids(start: Start, outside: CursorWrapper) -> Ids:
    """Return the ids that the transaction may have used, up to the second session's own."""
    return {
        "first": start.first,
        "span": row_versions.own_id(outside) - start.first,
        "multi": start.multi,
        "multis": (row_versions.next_multi(outside) - start.multi) % 2**32,
    }


def _table(
    cursor: CursorWrapper, outside: CursorWrapper, table: Table, ids: Ids, until: float
) -> TableChangeOut | None:
    """Return the change of a table; None if it is unchanged in the end."""
    why = _why_not(table, until)
    if not why:
        try:
            with transaction.atomic(), _one_look(outside):
                return _rows(cursor, outside, table, ids)
        except DatabaseError as error:
            cause = error.__cause__
            state = cause.sqlstate if isinstance(cause, psycopg.Error) else None
            why = f"it is {_WHY.get(state or '', 'not open to be read')}"
    return TableChangeOut(table=table.label, rows=[], more=0, note=_note(table, why))


def _why_not(table: Table, until: float) -> str:
    """Return why the rows of a table are not read; empty if they are read."""
    if tables.is_own(table.name):
        return "it is Heartbit's own"
    if table.is_seized:
        return "the tool truncates, alters, creates or drops the table"
    if not table.key:
        return "it has no primary key"
    return "" if time.monotonic() < until else "there was no time left"


def _note(table: Table, why: str) -> str:
    added, updated, gone = table.counts
    return (
        f"Its rows are not shown, because {why}. Counted: {added} inserted, {updated} updated, "
        f"{gone} deleted."
    )


def _rows(
    cursor: CursorWrapper, outside: CursorWrapper, table: Table, ids: Ids
) -> TableChangeOut | None:
    new, total = row_versions.written(cursor, table, ids, most=MOST_ROWS)
    old = row_versions.rows_of(outside, table, [key for key, _ in new])
    gone = []
    if any(table.counts[1:]):  # an update may change the key: then the old key counts as deleted
        gone = row_versions.missing(cursor, table, row_versions.candidates(outside, table, ids))
    last = row_versions.rows_of(outside, table, gone[: max(0, MOST_ROWS - len(new))])
    found = [
        *(_row(table, key, old.get(key), row) for key, row in new),
        *(_row(table, key, row, None) for key, row in last.items()),
    ]
    rows = [row for row in found if row is not None]
    more = total - len(new) + len(gone) - len(last)
    if not rows and not more:
        return None
    return TableChangeOut(table=table.label, rows=rows, more=more, note="")


def _row(table: Table, key: Key, old: Values | None, new: Values | None) -> RowChangeOut | None:
    """Return the change of a row; None if it was rewritten with the same values."""
    columns = [
        ColumnChangeOut(column=column.name, old=_cell(column, old), new=_cell(column, new))
        for column in table.columns
        if old is None or new is None or old[column.name] != new[column.name]
    ]
    if not columns:
        return None
    kind: RowChangeKind = "inserted" if old is None else "deleted" if new is None else "updated"
    parts = zip(table.key, key, strict=True)
    shown = [
        KeyPartOut(column=part.name, value=_shown(part, (text, None, None))) for part, text in parts
    ]
    return RowChangeOut(kind=kind, key=shown, columns=columns)


def _cell(column: Column, row: Values | None) -> CellOut | None:
    return None if row is None else _shown(column, row[column.name])


def _shown(column: Column, value: Value) -> CellOut:
    text, length, _ = value
    if column.is_secret:
        return CellOut(text=None, more=0, hidden=True)
    more = 0 if text is None or length is None else int(length) - len(text)
    return CellOut(text=text, more=more, hidden=False)
