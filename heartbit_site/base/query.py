"""Plain SQL on Django's connection, for statements that are not query sets.

With ``prepare`` a connection caches the plan of a statement, whose text must be constant: this pays
for queries of every request.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection
from django.db.models import Model

Values = Sequence[Any] | Mapping[str, Any] | None


def execute(query: str, values: Values = None) -> int:
    """Execute a statement; return the number of affected rows."""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return int(cursor.rowcount)


def fetch_all(query: str, values: Values = None, *, prepare: bool = False) -> list[Any]:
    """Return the rows of a query as tuples."""
    with _cursor(prepare=prepare) as cursor:
        cursor.execute(query, values)
        rows: list[Any] = cursor.fetchall()
        return rows


def fetch_one(query: str, values: Values = None, *, prepare: bool = False) -> Any:
    """Return the first row of a query as a tuple; None if it has no row."""
    with _cursor(prepare=prepare) as cursor:
        cursor.execute(query, values)
        return cursor.fetchone()


def fetch_together(*asked: tuple[str, Values]) -> list[list[Any]]:
    """Return the rows of several prepared queries, executed in one round trip."""
    backend: Any = connection
    backend.ensure_connection()
    with ExitStack() as stack:
        stack.enter_context(backend.connection.pipeline())
        cursors = [stack.enter_context(_cursor(prepare=True)) for _ in asked]
        for cursor, (query, values) in zip(cursors, asked, strict=True):
            cursor.execute(query, values)
        return [cursor.fetchall() for cursor in cursors]


def fetch_named(query: str, values: Values = None) -> list[dict[str, Any]]:
    """Return the rows of a query by the names of their columns."""
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _cursor(*, prepare: bool) -> Any:
    backend: Any = connection  # heartbit_site.base.postgres
    return backend.preparing_cursor() if prepare else backend.cursor()


M = TypeVar("M", bound=Model)


def instance_of(model: type[M], values: Sequence[Any]) -> M:
    """Return an instance from the values of all columns of its table, in the fields' order."""
    names, conversions = _columns(model)
    converted = list(values)
    for place, convert in conversions:
        converted[place] = convert(converted[place], None, connection)
    found: M = model.from_db(DEFAULT_DB_ALIAS, names, converted)
    return found


@functools.cache
def _columns(model: type[Model]) -> tuple[list[str], list[tuple[int, Callable[..., Any]]]]:
    """Return the attributes of a model's columns, and how the fields convert their values."""
    fields = model._meta.concrete_fields
    conversions = [
        (place, field.from_db_value)
        for place, field in enumerate(fields)
        if hasattr(field, "from_db_value")
    ]
    return [field.attname for field in fields], conversions
