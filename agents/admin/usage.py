"""The ledger of model calls in the admin: what each used and cost."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin
from django.db.models import Q

from agents.admin import formatting
from agents.admin.links import run_link
from heartbit_site.admin.columns import Column, clock, pill
from heartbit_site.admin.filters import ConditionFilter
from heartbit_site.admin.themed import LongList
from heartbit_site.base import amounts
from heartbit_site.base.models import UsageEntry


class PriceFilter(ConditionFilter):
    """Filter by calls with and without a known price."""

    title = "price"
    parameter_name = "price"

    conditions: ClassVar = {
        "unknown": ("Unknown", Q(cost_usd__isnull=True)),
        "known": ("Known", Q(cost_usd__isnull=False)),
    }


@admin.register(UsageEntry)
class UsageAdmin(LongList[UsageEntry]):
    """One row a model call. An unknown price is unknown, not 0."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {"view": "runs:read"}
    list_display = ("model", "workspace", "used", "price", "when", "run")
    list_select_related = ("workspace",)
    list_filter = ("workspace", PriceFilter)
    search_fields = ("^model", "=run_id")
    search_help_text = "The beginning of a model's name, or a run's id."
    sortable_by = ()
    fields = ("model", "workspace", "run", "turn", "used", "cached", "price", "at")

    used = Column[UsageEntry](
        "tokens", lambda row: formatting.tokens(row.input_tokens, row.output_tokens)
    )
    cached = Column[UsageEntry]("read from a cache", lambda row: f"{row.cached_input_tokens:,}")

    price = Column[UsageEntry](
        "cost",
        lambda row: pill("unknown") if row.cost_usd is None else amounts.money(row.cost_usd),
    )
    when = Column[UsageEntry]("when", lambda row: clock(row.at))

    run = Column[UsageEntry](
        "run",  # the ledger outlives runs
        lambda row: run_link(row.workspace, row.run_id, f"…{formatting.short_id(row.run_id)}"),
    )
