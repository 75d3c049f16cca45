"""Columns of lists and read-only fields of pages, each declared on a line; filters of lists.

Usage::

    class ThingAdmin(ReadOnlyAdmin[Thing]):
        list_display = ("what", "sent")
        what = Column[Thing]("thing", lambda row: two_lines(row.name, row.address))
        sent = Column[Thing]("sent", lambda row: moment(row.created_at), ordering="created_at")

A column that takes more than an expression is a method, as in Django; ``admin.display`` gives it a
heading other than its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from django.contrib.admin import SimpleListFilter
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from heartbit_site.base import tone as tones
from heartbit_site.base.amounts import duration

M = TypeVar("M", bound=Model)
Tone = tones.Tone


class Column(Generic[M]):
    """A column that an expression computes from the row; Django calls it like a method.

    Attributes:
        short_description: The heading.
        admin_order_field: The field that the list is sorted by; None: it cannot be sorted.
    """

    def __init__(self, heading: str, show: Callable[[M], object], *, ordering: str = "") -> None:
        self.short_description = heading
        self.admin_order_field = ordering or None
        self._show = show

    def __call__(self, row: M) -> object:
        """Return the content for a row."""
        return self._show(row)


def pill(text: str, *, tone: Tone = "") -> SafeString:
    """Return a small coloured label."""
    return render_to_string("unfold/helpers/label.html", {"text": text, "variant": tone})


def health_pill(row: Any) -> SafeString:
    """Return the result of a row's last check as a label."""
    if row.healthy is None:
        return pill("Not checked")
    return pill("Healthy", tone="success") if row.healthy else pill("Unhealthy", tone="danger")


def two_lines(title: object, below: object) -> SafeString:
    """Return a row's name with a quiet line below it, cut to the column."""
    markup = '<span class="hb-two"><b>{}</b><span class="hb-clip">{}</span></span>'
    return format_html(markup, title, below)


def link(url: str, text: object) -> SafeString:
    """Return a link."""
    return format_html('<a class="hb-link" href="{}">{}</a>', url, text)


def text_block(text: object) -> SafeString:
    """Return a person's or a model's text, in its own lines and direction."""
    return format_html('<span class="text" dir="auto">{}</span>', text)


def latency(milliseconds: int | None) -> str:
    """Return the time that a check took."""
    return "-" if milliseconds is None else f"{milliseconds:,} ms"


def ago(at: datetime | None) -> str:
    """Return the time since a moment."""
    return "Never" if at is None else f"{duration(timezone.now() - at)} ago"


class ConditionFilter(SimpleListFilter):
    """A filter whose choices are conditions.

    Attributes:
        conditions: By the value in the address: the choice's title, and the condition.
    """

    conditions: ClassVar[Mapping[str, tuple[str, Q]]] = {}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the choices."""
        return [(key, title) for key, (title, _) in self.conditions.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the rows that fit the chosen condition, or all rows."""
        _, condition = self.conditions.get(self.value() or "", ("", Q()))
        return queryset.filter(condition)
