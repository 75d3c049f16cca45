"""Long texts of rows, of which a list shows the beginnings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db.models.functions import Left, Length

from heartbit_site.base.preview import PREVIEW_CHARACTERS

if TYPE_CHECKING:
    from django.db.models import QuerySet


def with_beginning(rows: QuerySet[Any], column: str) -> QuerySet[Any]:
    """Read the beginning and the length of a long text instead of all of it.

    They are ``{column}_beginning``, which ``preview`` cuts, and ``{column}_characters``.
    """
    found: QuerySet[Any] = rows.annotate(
        **{
            f"{column}_beginning": Left(column, PREVIEW_CHARACTERS + 1),
            f"{column}_characters": Length(column),
        }
    ).defer(column)
    return found
