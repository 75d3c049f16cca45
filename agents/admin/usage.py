"""The ledger of model calls in the admin: what each used and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin import SimpleListFilter

from agents.admin import formatting
from agents.admin.links import run_link
from heartbit_site.base import amounts
from heartbit_site.base.admin.columns import Column, clock, pill
from heartbit_site.base.admin.themed import LongList
from heartbit_site.base.models import UsageEntry

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


class PriceFilter(SimpleListFilter):
    """Filter by calls with and without a known price."""

    title = "price"
    parameter_name = "price"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the two choices."""
        return [("unknown", "Unknown"), ("known", "Known")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the calls with, or without, a cost."""
        if self.value() in ("unknown", "known"):
            return queryset.filter(cost_usd__isnull=self.value() == "unknown")
        return queryset


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

    cached = Column[UsageEntry]("read from a cache", lambda entry: f"{entry.cached_input_tokens:,}")

    @admin.display(description="cost")
    def price(self, entry: UsageEntry) -> SafeString | str:
        """Return the cost, if it is known."""
        return pill("unknown") if entry.cost_usd is None else amounts.money(entry.cost_usd)

    when = Column[UsageEntry]("when", lambda entry: clock(entry.at))

    @admin.display(description="run")
    def run(self, entry: UsageEntry) -> SafeString:
        """Whose call it was; the ledger outlives runs."""
        return run_link(entry.workspace, entry.run_id, f"…{formatting.short_id(entry.run_id)}")
