"""Tiers in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import Count

from heartbit_site.base.admin.themed import ModelAdmin
from heartbit_site.base.models import Tier

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest


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

    @admin.display(description="runs a day")
    def a_day(self, tier: Tier) -> str:
        """Return the limit on tokens a day."""
        return _limit(tier.runs_per_day)

    @admin.display(description="tokens a month")
    def a_month(self, tier: Tier) -> str:
        """Return the limit on tokens a month."""
        return _limit(tier.tokens_per_month)

    @admin.display(description="US dollars a month")
    def money(self, tier: Tier) -> str:
        """Return the limit on US dollars."""
        return _limit(tier.usd_per_month, "${:,.2f}")

    @admin.display(description="concurrent runs")
    def at_once(self, tier: Tier) -> str:
        """Return the limit on concurrent runs."""
        return _limit(tier.runs_at_once)

    @admin.display(description="days kept")
    def kept(self, tier: Tier) -> str:
        """Return the limit on stored data."""
        return _limit(tier.retention_days)

    @admin.display(description="workspaces")
    def workspaces(self, tier: Tier) -> int:
        """Return the number of workspaces with this tier."""
        return int(getattr(tier, "used", 0))


def _limit(value: Any, form: str = "{:,}") -> str:
    return "no limit" if value is None else form.format(value)
