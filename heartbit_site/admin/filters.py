"""Filters of lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib.admin import SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest


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
