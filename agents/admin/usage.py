"""The ledger of model calls in the admin: what each used and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from django.contrib import admin
from django.db.models import Q

from agents.admin import formatting
from agents.admin.links import run_link
from heartbit_site.base import amounts
from heartbit_site.base.admin.columns import Column, clock, pill
from heartbit_site.base.admin.filters import ConditionFilter
from heartbit_site.base.admin.themed import LongList
from heartbit_site.base.models import UsageEntry

if TYPE_CHECKING:
    from django.utils.safestring import SafeString


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

    @admin.display(description="tokens")
    def used(self, entry: UsageEntry) -> str:
        """Read and written."""
        return formatting.tokens(entry.input_tokens, entry.output_tokens)

    cached = Column[UsageEntry]("read from a cache", lambda row: f"{row.cached_input_tokens:,}")

    @admin.display(description="cost")
    def price(self, entry: UsageEntry) -> SafeString | str:
        """Return the cost, if it is known."""
        return pill("unknown") if entry.cost_usd is None else amounts.money(entry.cost_usd)

    when = Column[UsageEntry]("when", lambda row: clock(row.at))

    def run(self, entry: UsageEntry) -> SafeString:
        """Whose call it was; the ledger outlives runs."""
        return run_link(entry.workspace, entry.run_id, f"…{formatting.short_id(entry.run_id)}")
