"""Costs of model calls in the admin: their ledger, and budgets."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from agents.actions.quotas import NO_LIMIT, remove_budget, save_budget
from agents.admin import formatting
from agents.models import Budget
from agents.reads.usage import tokens_used, usd_used, with_spending
from agents.reads.views import CountGaugeOut, MoneyGaugeOut
from heartbit_site.admin.actions import actor_of
from heartbit_site.admin.columns import Column, ConditionFilter, pill
from heartbit_site.admin.permissions import rights
from heartbit_site.admin.saved_by_verb import VerbAdmin, VerbForm
from heartbit_site.admin.themed import LongList
from heartbit_site.base import amounts
from heartbit_site.base.models import UsageEntry
from heartbit_site.shell.moment import moment


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
    work_page = "web:health-usage"
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
    when = Column[UsageEntry]("when", lambda row: moment(row.at))

    run = Column[UsageEntry](
        "run",  # the ledger outlives runs
        lambda row: formatting.run_link(
            row.workspace, row.run_id, f"…{formatting.short_id(row.run_id)}"
        ),
    )


class BudgetForm(VerbForm[Budget]):
    """A budget's limits, and whose they are."""

    class Meta:
        model = Budget
        fields = (
            *("workspace", "agent", "person", "schedule", "period"),
            *("max_tokens", "max_usd", "warn_at", "ask_at"),
        )
        labels = {"max_tokens": "Tokens", "max_usd": "US dollars", "warn_at": "Warn at (percent)"}
        labels |= {"ask_at": "Ask an owner at (percent)"}
        help_texts = {
            "agent": "Whose runs count. Empty: all of the workspace.",
            "period": "It begins at midnight UTC, of each day or of the first of the month.",
            "max_usd": "Empty: no limit. Calls of unknown price count as nothing.",
        }
        # Django checks the table's constraint before the verb does; it has no sentence of its own.
        error_messages = {NON_FIELD_ERRORS: {None: NO_LIMIT}}


@admin.register(Budget)
class BudgetAdmin(VerbAdmin[Budget]):
    """Limits that calls are checked against before they are made; tiers have theirs elsewhere."""

    needs: ClassVar = rights("runs:read", "agents:write")
    form = BudgetForm
    remove = staticmethod(remove_budget)
    list_display = ("whose", "workspace", "period", "tokens", "money", "state")
    list_filter = ("workspace", "period")
    search_fields = ("agent__name", "workspace__slug")
    warn_unsaved_form = True
    readonly_fields = ("tokens", "money", "state")
    fieldsets = (
        (None, {"fields": ("workspace", ("agent", "person", "schedule"), "period")}),
        ("Limits", {"fields": (("max_tokens", "max_usd"), ("warn_at", "ask_at"))}),
    )
    fixed = (
        "workspace",
        "agent",
        "person",
        "schedule",
        "period",
    )  # what was counted so far was counted for them

    def get_queryset(self, request: HttpRequest) -> QuerySet[Budget]:
        """Return people's budgets with the spending of the current period, which a row may lag."""
        return with_spending(super().get_queryset(request).filter(from_tier=False))

    def get_fieldsets(self, request: HttpRequest, obj: Budget | None = None) -> Any:
        """Return the fields; a new budget has no spending to show."""
        shown = super().get_fieldsets(request, obj)
        if obj is None:
            return shown
        name = "This day" if obj.period == "day" else "This month"
        return (*shown, (name, {"fields": ("tokens", "money", "state")}))

    def save_row(self, request: HttpRequest, row: Budget, form: Any) -> None:
        """Save with ``save_budget``."""
        save_budget(row, by=actor_of(request))

    # ------------------------------------------------------------------------------------- columns

    whose = Column[Budget]("scope", lambda row: row.whose or "the whole workspace")
    tokens = Column[Any]("tokens", lambda row: _tokens_meter(row))
    money = Column[Any]("US dollars", lambda row: _usd_meter(row))

    def state(self, budget: Budget) -> SafeString:
        """Return the state: whether the budget still allows model calls."""
        states = {tokens_used(budget).state, usd_used(budget).state}
        if "exceeded" in states:
            return pill("Spent", tone="danger")
        if "warning" in states:
            return pill("Nearly spent", tone="warning")
        return pill("Open", tone="success")


def _tokens_meter(budget: Any) -> SafeString:
    limit = f"{budget.max_tokens or 0:,}"
    return _meter(tokens_used(budget), f"{budget.tokens_now:,}", limit)


def _usd_meter(budget: Any) -> SafeString:
    limit = f"${budget.max_usd or 0:,.2f}"
    return _meter(usd_used(budget), f"${budget.usd_now:,.4f}", limit)


def _meter(shown: CountGaugeOut | MoneyGaugeOut, used: str, limit: str) -> SafeString:
    """Return the amount spent, the limit, and a bar of both."""
    if shown.percent is None:
        return format_html('<span class="number">{} (no limit)</span>', used)
    tone = {"exceeded": "hb-full", "warning": "hb-nearly"}.get(shown.state, "")
    return format_html(
        '<span class="number">{} of {}</span>'
        '<span class="hb-meter {}"><i style="width: {}%"></i></span>',
        *(used, limit, tone, min(100, shown.percent)),
    )
