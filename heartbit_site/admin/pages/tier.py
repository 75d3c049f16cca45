"""Tiers in the admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest

from heartbit_site.admin.columns import Column
from heartbit_site.admin.themed import ModelAdmin
from heartbit_site.base.models import Tier


@admin.register(Tier)
class TierAdmin(ModelAdmin[Tier]):
    """Tiers, which only superusers see, change and assign.

    A change holds at once for all workspaces of the tier. A tier in use cannot be deleted.
    """

    list_display = ("name", "a_day", "a_month", "money", "at_once", "kept", "workspaces")
    sortable_by = ()
    warn_unsaved_form = True
    fieldsets = (
        (None, {"fields": ("name",)}),
        ("Runs", {"fields": (("runs_per_day", "runs_at_once"),)}),
        ("Model calls", {"fields": (("tokens_per_month", "usd_per_month"),)}),
        ("Beyond", {"fields": (("warn_at", "retention_days"),)}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tier]:
        """Return the tiers, each with the number of its workspaces."""
        tiers: QuerySet[Tier] = super().get_queryset(request).annotate(used=Count("workspaces"))
        return tiers

    def has_delete_permission(self, request: HttpRequest, obj: Tier | None = None) -> bool:
        """Allow to delete a tier without workspaces, and never several at once."""
        if obj is None or obj.workspaces.exists():
            return False
        return super().has_delete_permission(request, obj)

    a_day = Column[Tier]("runs a day", lambda row: _limit(row.runs_per_day))
    a_month = Column[Tier]("tokens a month", lambda row: _limit(row.tokens_per_month))
    money = Column[Tier]("US dollars a month", lambda row: _limit(row.usd_per_month, "${:,.2f}"))
    at_once = Column[Tier]("concurrent runs", lambda row: _limit(row.runs_at_once))
    kept = Column[Tier]("days kept", lambda row: _limit(row.retention_days))
    workspaces = Column[Tier]("workspaces", lambda row: int(getattr(row, "used", 0)))


def _limit(value: Any, form: str = "{:,}") -> str:
    return "no limit" if value is None else form.format(value)
