"""Run one SQL statement on Django's connection, where the ORM has no words for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import connection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Parameters = Sequence[Any] | Mapping[str, Any] | None


def execute(statement: str, parameters: Parameters = None) -> int:
    """Run a statement; return the number of rows that it found or changed."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return int(cursor.rowcount)


def rows(statement: str, parameters: Parameters = None) -> list[Any]:
    """Return all rows, as tuples."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def named_rows(statement: str, parameters: Parameters = None) -> list[dict[str, Any]]:
    """Return all rows, as dictionaries by the names of the columns."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def row(statement: str, parameters: Parameters = None) -> Any:
    """Return the first row, as a tuple; None if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()


def values(statement: str, parameters: Parameters = None) -> list[Any]:
    """Return the first column of all rows."""
    return [first for first, *_ in rows(statement, parameters)]


def value(statement: str, parameters: Parameters = None) -> Any:
    """Return the first column of the one row."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchone()[0]
