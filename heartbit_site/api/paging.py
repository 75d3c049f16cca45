"""Lists that can grow, page by page: ``?cursor=&limit=``, and ``next`` in the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

from django.db.models import Model
from ninja import Query

from heartbit_site.api.fields import Word
from heartbit_site.base.errors import HeartbitError

if TYPE_CHECKING:
    from django.db.models import QuerySet

M = TypeVar("M", bound=Model)

Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
Cursor = Annotated[Word | None, Query(description="`next` of the page before; none: the first.")]
USUAL = 50
_MOST = 2**63 - 1


class CursorError(HeartbitError):
    """The cursor is none that was given out."""


def page(rows: QuerySet[M], by: str, cursor: str | None, limit: int) -> tuple[list[M], str | None]:
    """One page, the newest first.

    Args:
        rows: All that are listed.
        by: A whole number that no two of them share and that grows; the cursor is one.
        cursor: ``next`` of the page before.
        limit: How many at most.

    Returns:
        The rows, and the cursor of the next page; None: there is none.

    Raises:
        CursorError: It is no cursor.
    """
    if cursor is not None:
        usable = cursor.isascii() and cursor.isdecimal() and int(cursor[:20]) <= _MOST
        if not usable:
            raise CursorError("The cursor is none of this list: take `next` of the page before.")
        rows = rows.filter(**{f"{by}__lt": int(cursor[:20])})
    found = list(rows.order_by(f"-{by}")[: limit + 1])
    more, found = len(found) > limit, found[:limit]
    return found, str(getattr(found[-1], by)) if more else None
