"""Save a budget; a new one starts with the usage of its current period."""

from __future__ import annotations

from decimal import Decimal

from django.db import transaction
from django.db.models import F, Sum

from agents.models import Budget, Run
from heartbit_site.base.errors import ConfigurationError, ConflictError, about
from heartbit_site.base.models import UsageEntry
from heartbit_site.base.query import fetch_one

NO_LIMIT = "Set a limit of tokens, of US dollars, or both."


@transaction.atomic
def save_budget(budget: Budget) -> None:
    """Write the limits of a budget; only a new budget's initial usage is written here.

    The initial usage is read from the ledger; model calls that end at this moment may be missing.

    Raises:
        ConfigurationError: It limits nothing, or its agent belongs to another workspace.
        ConflictError: There is a budget of the same scope and period.
    """
    _check(budget)
    if budget.pk:
        # With changed limits the notices of this period are due again.
        budget.warned_period = budget.exceeded_period = budget.exceeded_notified_period = None
        notices = ["warned_period", "exceeded_period", "exceeded_notified_period"]
        budget.save(update_fields=["max_tokens", "max_usd", "warn_at", *notices])
        return
    query = "SELECT date_trunc(%s, clock_timestamp(), 'UTC')"
    (budget.period_start,) = fetch_one(query, [budget.period])
    entries = UsageEntry.objects.filter(workspace=budget.workspace_id, at__gte=budget.period_start)
    if budget.agent_id is not None:
        runs = Run.objects.filter(version__agent=budget.agent_id)
        entries = entries.filter(run_id__in=runs.values("pk"))
    spent = entries.aggregate(
        tokens=Sum(F("input_tokens") + F("output_tokens")), usd=Sum("cost_usd")
    )
    budget.spent_tokens = spent["tokens"] or 0
    budget.spent_usd = spent["usd"] or Decimal(0)
    budget.save()


def _check(budget: Budget) -> None:
    if budget.max_tokens is None and budget.max_usd is None:
        raise ConfigurationError(NO_LIMIT)
    agent = budget.agent
    with about("agent"):
        if agent is not None and agent.workspace_id != budget.workspace_id:
            raise ConfigurationError(f"{agent.name} belongs to another workspace.")
    others = Budget.objects.filter(workspace=budget.workspace_id, agent=agent, period=budget.period)
    if others.filter(from_tier=False).exclude(pk=budget.pk).exists():
        whose = agent.name if agent is not None else "the whole workspace"
        raise ConflictError(f"There is a budget of {whose} for each {budget.period} already.")
