"""Budgets in the admin: what may be spent, and what was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.contrib import admin
from django.db.models import Func
from django.utils.html import format_html

from agents.actions.save_budget import save_budget
from agents.admin.agent_choice import AgentChoice
from agents.models import Agent, Budget
from heartbit_site.base.admin.columns import Column, pill
from heartbit_site.base.admin.saved_by_verb import VerbForm

if TYPE_CHECKING:
    from decimal import Decimal

    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


class BudgetForm(VerbForm[Budget]):
    """A budget's limits, and whose they are."""

    class Meta:
        model = Budget
        fields = ("workspace", "agent", "period", "max_tokens", "max_usd", "warn_at")
        labels = {"max_tokens": "Tokens", "max_usd": "US dollars", "warn_at": "Warn at (percent)"}
        help_texts = {
            "agent": "Whose runs count. Empty: all of the workspace.",
            "period": "It begins at midnight UTC, of each day or of the first of the month.",
            "max_usd": "Empty: no limit. Calls of unknown price count as nothing.",
        }

    def clean(self) -> dict[str, Any] | None:
        """Require a limit and an agent of the workspace; reject a second budget of a scope."""
        cleaned = super().clean()
        workspace = self.cleaned_data.get("workspace") or getattr(self.instance, "workspace", None)
        agent = self.cleaned_data.get("agent")
        if agent is not None and workspace is not None and agent.workspace_id != workspace.pk:
            self.add_error("agent", f"{agent.name} belongs to another workspace.")
        self._check_once(getattr(workspace, "pk", None), agent)
        limits = [self.cleaned_data.get(name) for name in ("max_tokens", "max_usd")]
        if limits == [None, None] and not {"max_tokens", "max_usd"} & set(self.errors):
            raise forms.ValidationError("Set a limit of tokens, of US dollars, or both.")
        return cleaned

    def _check_once(self, workspace_id: int | None, agent: Agent | None) -> None:
        """Django leaves this to us: a part of the constraint, whose it is, is not in the form."""
        period = self.cleaned_data.get("period")
        others = Budget.objects.filter(workspace=workspace_id, agent=agent, period=period)
        if others.filter(from_tier=False).exclude(pk=self.instance.pk).exists():
            whose = agent.name if agent is not None else "the whole workspace"
            raise forms.ValidationError(f"There is a budget of {whose} for each {period} already.")


@admin.register(Budget)
class BudgetAdmin(AgentChoice[Budget]):
    """Limits that calls are checked against before they are made; tiers have theirs elsewhere."""

    workspace_path = "workspace"
    needs: ClassVar = {
        "view": "runs:read",
        **dict.fromkeys(("add", "change", "delete"), "agents:write"),
    }
    form = BudgetForm
    list_display = ("whose", "workspace", "every", "tokens", "money", "state")
    list_filter = ("workspace", "period")
    search_fields = ("agent__name", "workspace__slug")
    sortable_by = ()
    actions = ()
    warn_unsaved_form = True
    readonly_fields = ("tokens", "money", "state")
    fixed = ("workspace", "agent", "period")  # what was counted so far was counted for them

    def get_queryset(self, request: HttpRequest) -> QuerySet[Budget]:
        """Return budgets with the spending of the current period, which a row may lag."""
        budgets = super().get_queryset(request).filter(from_tier=False)
        budgets = budgets.select_related("workspace", "agent")
        start = Func("period", template="date_trunc(%(expressions)s, clock_timestamp(), 'UTC')")
        annotated: QuerySet[Budget] = budgets.annotate(current=start)
        return annotated

    def get_fieldsets(self, request: HttpRequest, obj: Budget | None = None) -> Any:
        """Return the fields; a new budget has no spending to show."""
        fieldsets: list[tuple[str | None, dict[str, Any]]] = [
            (None, {"fields": ("workspace", "agent", "period")}),
            ("Limits", {"fields": (("max_tokens", "max_usd"), "warn_at")}),
        ]
        if obj is not None:
            name = "This day" if obj.period == "day" else "This month"
            fieldsets.append((name, {"fields": ("tokens", "money", "state")}))
        return fieldsets

    def save_row(self, request: HttpRequest, row: Budget, form: Any) -> None:
        """Save with ``save_budget``."""
        save_budget(row)

    # ------------------------------------------------------------------------------------- columns

    @admin.display(description="scope")
    def whose(self, budget: Budget) -> str:
        """Return the agent, or the whole workspace."""
        return budget.agent.name if budget.agent is not None else "the whole workspace"

    every = Column[Budget]("period", lambda row: row.period)

    def tokens(self, budget: Budget) -> SafeString:
        """Spent and limit, drawn."""
        return _meter(budget, budget.spent_tokens, budget.max_tokens, "{:,}", "{:,}")

    @admin.display(description="US dollars")
    def money(self, budget: Budget) -> SafeString:
        """Spent and limit, drawn."""
        return _meter(budget, budget.spent_usd, budget.max_usd, "${:,.4f}", "${:,.2f}")

    def state(self, budget: Budget) -> SafeString:
        """Return the state: whether the budget still allows model calls."""
        most = max(
            _percent(budget.spent_tokens, budget.max_tokens) or 0,
            _percent(budget.spent_usd, budget.max_usd) or 0,
        )
        if not _is_current(budget) or most < budget.warn_at:
            return pill("Open", tone="success")
        return pill("Spent", tone="danger") if most >= 100 else pill("Nearly spent", tone="warning")


def _is_current(budget: Budget) -> bool:
    current = getattr(budget, "current", budget.period_start)
    return bool(budget.period_start >= current)


def _percent(spent: Decimal | int, limit: Decimal | int | None) -> int | None:
    if limit is None:
        return None
    return min(100, int(100 * spent / limit)) if limit else 100


def _meter(
    budget: Budget, counted: Decimal | int, limit: Decimal | int | None, form: str, limit_form: str
) -> SafeString:
    """Return the amount spent in the current period, the limit, and a bar of both."""
    spent = counted if _is_current(budget) else 0
    percent = _percent(spent, limit)
    if percent is None:
        return format_html('<span class="hb-number">{} (no limit)</span>', form.format(spent))
    tone = "hb-full" if percent >= 100 else "hb-nearly" if percent >= budget.warn_at else ""
    return format_html(
        '<span class="hb-number">{} of {}</span>'
        '<span class="hb-meter {}"><i style="width: {}%"></i></span>',
        *(form.format(spent), limit_form.format(limit), tone, percent),
    )
