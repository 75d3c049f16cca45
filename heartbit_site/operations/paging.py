"""Pagination of lists that can grow: ``?cursor=&limit=``, and ``next_cursor`` in the answer.

A list is sorted by a unique key: a number, a name, or a time. The cursor is the place of the last
row that was given out, so rows that come and go meanwhile shift nothing: the next page begins after
that place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from django.db.models import CharField, DateTimeField, Model, QuerySet, UUIDField
from django.db.models.functions import Cast, Left, Length

from heartbit_site.base.errors import HeartbitError, NotFoundError
from heartbit_site.base.moments import TooFarError, to_utc
from heartbit_site.base.preview import PREVIEW_CHARACTERS
from heartbit_site.base.view import View
from heartbit_site.contract.model import Page, rows_of

M = TypeVar("M", bound=Model)
P = TypeVar("P", int, str)
T = TypeVar("T")
V = TypeVar("V", bound=Page)

_MOST = 2**63 - 1
_NONE = "The cursor is not valid: use `next_cursor` of the previous page of this list."


class CursorError(HeartbitError):
    """The cursor is not valid for the list."""


def page(
    rows: QuerySet[M], order: str, cursor: str | None, limit: int, *, walked: bool = True
) -> tuple[list[M], str | None]:
    """Return one page of rows of the database.

    Args:
        rows: All that are listed.
        order: The field that is their place, as Django sorts by it: ``-pk`` is the newest first.
        cursor: ``next_cursor`` of the page before.
        limit: How many at most.
        walked: False: sort all rows that match, found by another index, instead of walking the
            index of the place, which reads all rows if few of them match.

    Returns:
        The rows, and the cursor of the next page; None: there is none.

    Raises:
        CursorError: It is no cursor.
    """
    by, falls = order.removeprefix("-"), order.startswith("-")
    text = Cast(by, CharField())  # sorts uuids as they do
    place: Any = order if walked else text.desc() if falls else text.asc()
    found = list(place_after(rows, order, cursor).order_by(place)[: limit + 1])
    more, found = len(found) > limit, found[:limit]
    return found, _written(getattr(found[-1], by)) if more else None


def place_after(rows: QuerySet[M], order: str, cursor: str | None) -> QuerySet[M]:
    """Return the rows behind a cursor, in no order.

    Raises:
        CursorError: It is no cursor.
    """
    if cursor is None:
        return rows
    by = order.removeprefix("-")
    further = "lt" if order.startswith("-") else "gt"
    return rows.filter(**{f"{by}__{further}": _place(rows, by, cursor)})


def list_page(
    output: type[V],
    rows: QuerySet[M],
    order: str,
    cursor: str | None,
    limit: int,
    view: Callable[[Any], View] | None = None,
) -> V:
    """Return one page of rows of the database as the answer of a list; see ``page``.

    Args:
        output: Model of the answer.
        rows: All that are listed.
        order: The field that is their place.
        cursor: ``next_cursor`` of the page before.
        limit: How many at most.
        view: Makes the view of a row; None: it is made of the row's attributes alone.
    """
    found, following = page(rows, order, cursor, limit)
    shown = found if view is None else [view(row) for row in found]
    return output.model_validate({rows_of(output): shown, "next_cursor": following})


def page_of(
    rows: Mapping[P, T], read: Callable[[str], P], cursor: str | None, limit: int
) -> tuple[list[T], str | None]:
    """Return one page of a mapping, as ``page`` does of rows.

    Args:
        rows: All that are listed, by their places; they are sorted by these.
        read: A place from its text: ``number``, or ``str``.
        cursor: ``next_cursor`` of the page before.
        limit: How many at most.

    Raises:
        CursorError: It is no cursor.
    """
    places = sorted(rows)
    if cursor is not None:
        places = places[bisect_right(places, read(cursor)) :]
    more, places = len(places) > limit, places[:limit]
    return [rows[place] for place in places], str(places[-1]) if more else None


def number(cursor: str) -> int:
    """Return a place that is a whole number.

    Raises:
        CursorError: It is none.
    """
    if not (cursor.isascii() and cursor.isdecimal() and int(cursor) <= _MOST):
        raise CursorError(_NONE)
    return int(cursor)


def _place(rows: QuerySet[M], by: str, cursor: str) -> int | str | datetime | UUID:
    field = _field(rows, by)
    if isinstance(field, CharField):
        return cursor
    try:
        if isinstance(field, UUIDField):  # they rise with time
            return UUID(cursor)
        if isinstance(field, DateTimeField):
            moment = datetime.fromisoformat(cursor)
            if moment.tzinfo is None:
                raise CursorError(_NONE)
            return to_utc(moment)
    except (ValueError, TooFarError):
        raise CursorError(_NONE) from None
    return number(cursor)


def _field(rows: QuerySet[M], by: str) -> object:
    if by in rows.query.annotations:
        return rows.query.annotations[by].output_field
    meta = rows.model._meta
    return meta.pk if by == "pk" else meta.get_field(by)


def _written(place: object) -> str:
    """Return a place as text for an address: of a time, without a plus."""
    if isinstance(place, datetime):
        return f"{place.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    return str(place)


def row_id(text: str) -> int:
    """Return the number that an address names; 0, which no row has, if it is none."""
    usable = text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= _MOST
    return int(text) if usable else 0


def find_row(rows: QuerySet[M], missing: NotFoundError) -> M:
    """Return the first of the rows that an address names.

    Raises:
        NotFoundError: There is none: ``missing`` is raised.
    """
    row = rows.first()
    if row is None:
        raise missing
    return row


def with_beginning(rows: QuerySet[Any], column: str) -> QuerySet[Any]:
    """Read only the beginning and the length of a long text.

    They are ``{column}_beginning``, which ``preview`` cuts, and ``{column}_characters``.
    """
    found: QuerySet[Any] = rows.annotate(
        **{
            f"{column}_beginning": Left(column, PREVIEW_CHARACTERS + 1),
            f"{column}_characters": Length(column),
        }
    ).defer(column)
    return found
