"""Budgets in the admin: what may be spent, and what was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from django import forms
from django.contrib import admin
from django.db.models import Func
from django.utils.html import format_html

from agents.actions.save_budget import save_budget
from agents.models import Agent, Budget
from heartbit_site.base.admin.themed import ModelAdmin, pill

if TYPE_CHECKING:
    from decimal import Decimal

    from django.db.models import ForeignKey, QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


class BudgetForm(forms.ModelForm[Budget]):
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
        """A limit, an agent of the workspace, and no second budget for the same."""
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
class BudgetAdmin(ModelAdmin[Budget]):
    """Limits that calls are checked against before they are made; tiers have theirs elsewhere."""

    workspace_path = "workspace"
    needs: ClassVar[dict[str, str]] = {
        "view": "runs:read",
        "add": "agents:write",
        "change": "agents:write",
        "delete": "agents:write",
    }
    form = BudgetForm
    list_display = ("whose", "workspace", "every", "tokens", "money", "state")
    list_display_links = ("whose",)
    list_filter = ("workspace", "period")
    search_fields = ("agent__name", "workspace__slug")
    sortable_by = ()
    actions = ()
    warn_unsaved_form = True
    readonly_fields = ("tokens", "money", "state")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Budget]:
        """With what was spent in the period that is now; the row may be of an earlier one."""
        budgets = super().get_queryset(request).filter(from_tier=False)
        budgets = budgets.select_related("workspace", "agent")
        start = Func("period", template="date_trunc(%(expressions)s, clock_timestamp(), 'UTC')")
        annotated: QuerySet[Budget] = budgets.annotate(current=start)
        return annotated

    def get_fieldsets(self, request: HttpRequest, obj: Budget | None = None) -> Any:
        """A new budget has spent nothing that it knows of."""
        fieldsets: list[tuple[str | None, dict[str, Any]]] = [
            (None, {"fields": ("workspace", "agent", "period")}),
            ("Limits", {"fields": (("max_tokens", "max_usd"), "warn_at")}),
        ]
        if obj is not None:
            name = "This day" if obj.period == "day" else "This month"
            fieldsets.append((name, {"fields": ("tokens", "money", "state")}))
        return fieldsets

    def get_readonly_fields(
        self, request: HttpRequest, obj: Budget | None = None
    ) -> tuple[str, ...]:
        """What was counted so far was counted for these."""
        fixed = ("workspace", "agent", "period") if obj else ()
        return (*self.readonly_fields, *fixed)

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField[Any] | None:
        """Agents that people edit; files' and programs' are others each time."""
        if db_field.name == "agent":
            kwargs["queryset"] = Agent.objects.filter(origin="").order_by("workspace", "name")
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        return cast("forms.ModelChoiceField[Any] | None", field)

    def save_model(
        self,
        request: HttpRequest,
        obj: Budget,
        form: Any,
        change: bool,  # noqa: FBT001  Django's signature
    ) -> None:
        """See ``save_budget``."""
        save_budget(obj)

    # ------------------------------------------------------------------------------------- columns

    @admin.display(description="budget of")
    def whose(self, budget: Budget) -> str:
        """An agent, or everybody in the workspace."""
        return budget.agent.name if budget.agent is not None else "the whole workspace"

    @admin.display(description="every")
    def every(self, budget: Budget) -> str:
        """How long it has to last."""
        return budget.period

    @admin.display(description="tokens")
    def tokens(self, budget: Budget) -> SafeString:
        """Spent and limit, drawn."""
        spent = budget.spent_tokens if _is_current(budget) else 0
        limit = budget.max_tokens
        shown = None if limit is None else f"{limit:,}"
        return _meter(f"{spent:,}", shown, _percent(spent, limit), budget.warn_at)

    @admin.display(description="US dollars")
    def money(self, budget: Budget) -> SafeString:
        """Spent and limit, drawn."""
        spent = budget.spent_usd if _is_current(budget) else 0
        limit = budget.max_usd
        shown = None if limit is None else f"${limit:,.2f}"
        return _meter(f"${spent:,.4f}", shown, _percent(spent, limit), budget.warn_at)

    @admin.display(description="state")
    def state(self, budget: Budget) -> SafeString:
        """Whether runs still get model calls out of it."""
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


def _meter(spent: str, limit: str | None, percent: int | None, warn_at: int) -> SafeString:
    """What was spent, of how much, and a line that shows it."""
    if percent is None:
        return format_html('<span class="hb-number">{} (no limit)</span>', spent)
    tone = "hb-full" if percent >= 100 else "hb-nearly" if percent >= warn_at else ""
    return format_html(
        '<span class="hb-number">{} of {}</span>'
        '<span class="hb-meter {}"><i style="width: {}%"></i></span>',
        *(spent, limit, tone, percent),
    )
