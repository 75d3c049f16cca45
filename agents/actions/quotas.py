"""Save budgets, and notify workspaces of nearly and fully used quotas.

Quotas are polled, as webhook deliveries are (docs/decisions/0009), so that a run never waits for
the audit's chain, which is locked until its writer's transaction ends.

Each quota is reported once per period when it is nearly used up (``quota.warning``) and once when
it is used up (``quota.reached``): by an audit entry, which is a system event too. The row keeps the
period of its last notice, written in the notice's transaction.
"""

from __future__ import annotations

import logging
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import DecimalField, F, Func, Q, Sum, Value
from django.db.models.functions import Cast, Now
from django.db.models.lookups import GreaterThanOrEqual

from agents.models import Budget, Run, RunCount
from heartbit_site.base.audit import (
    BY_SCHEDULE,
    SYSTEM,
    Actor,
    changes,
    lock_chain,
    record,
    record_on,
)
from heartbit_site.base.errors import ConfigurationError, ConflictError, about
from heartbit_site.base.models import UsageEntry, Workspace
from heartbit_site.base.query import fetch_one
from heartbit_site.base.rights import require

logger = logging.getLogger(__name__)

_LIMITS = ("max_tokens", "max_usd", "warn_at", "ask_at")
NO_LIMIT = "Set a limit of tokens, of US dollars, or both."


@transaction.atomic
def save_budget(budget: Budget, *, by: Actor = SYSTEM) -> None:
    """Write the limits of a budget; only a new budget's initial usage is written here.

    The initial usage is read from the ledger; model calls that end at this moment may be missing.

    Args:
        budget: New or changed.
        by: The actor, for the audit.

    Raises:
        ConfigurationError: The budget has no limit, or its agent belongs to another workspace.
        ConflictError: There is a budget of the same scope and period, or it is the tier's.
        ForbiddenError: The actor may not change agents of the workspace.
    """
    require(by, "agents:write", workspace_id=budget.workspace_id)
    _refuse_tier(budget)
    _check(budget)
    before = Budget.objects.filter(pk=budget.pk).first() if budget.pk else None
    _write(budget)
    if before is None:
        record_on(by, "budget.add", budget, details=changes(Budget(), budget, _LIMITS))
    elif changed := changes(before, budget, _LIMITS):
        record_on(by, "budget.change", budget, details=changed)


@transaction.atomic
def remove_budget(budget: Budget, *, by: Actor = SYSTEM) -> None:
    """Delete a budget: its limits end at once; what was spent stays in the ledger.

    Raises:
        ConflictError: It is the tier's.
        ForbiddenError: As for ``save_budget``.
    """
    require(by, "agents:write", workspace_id=budget.workspace_id)
    _refuse_tier(budget)
    record_on(by, "budget.delete", budget)
    budget.delete()


def _refuse_tier(budget: Budget) -> None:
    if budget.from_tier:
        raise ConflictError("This budget is the tier's: an operator changes the tier.")


def _write(budget: Budget) -> None:
    if budget.pk:
        # With changed limits the notices of this period are due again.
        budget.warned_period = budget.exceeded_period = budget.exceeded_notified_period = None
        notices = ["warned_period", "exceeded_period", "exceeded_notified_period"]
        budget.allowed_period = None
        limits = ["max_tokens", "max_usd", "warn_at", "ask_at", "allowed_period"]
        budget.save(update_fields=[*limits, *notices])
        return
    query = "SELECT date_trunc(%s, clock_timestamp(), 'UTC')"
    (budget.period_start,) = fetch_one(query, [budget.period])
    entries = UsageEntry.objects.filter(workspace=budget.workspace_id, at__gte=budget.period_start)
    scope = {
        "version__agent": budget.agent_id,
        "root__started_user": budget.person_id,
        "root__started_by": f"{BY_SCHEDULE}{budget.schedule}" if budget.schedule else None,
    }
    scope = {name: value for name, value in scope.items() if value is not None}
    if scope:
        entries = entries.filter(run_id__in=Run.objects.filter(**scope).values("pk"))
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
    with about("ask_at"):
        if budget.ask_at is not None and budget.ask_at < budget.warn_at:
            raise ConfigurationError(
                "The percentage is below that of the warning: raise it, or warn sooner."
            )
    scope = {"agent": agent, "person": budget.person, "schedule": budget.schedule}
    others = Budget.objects.filter(workspace=budget.workspace_id, period=budget.period, **scope)
    if others.filter(from_tier=False).exclude(pk=budget.pk).exists():
        whose = budget.whose or "the whole workspace"
        raise ConflictError(f"There is a budget of {whose} for each {budget.period} already.")


_WARNING, _REACHED = "quota.warning", "quota.reached"
_MOST_PERCENT = 1000


def _passes(used: str, limit: str, warn_at: str) -> Q:
    """Match rows with usage of at least the warning percentage of a limit."""
    figures = DecimalField(max_digits=40, decimal_places=8)  # the products overflow integers
    spent, most = Cast(used, figures), Cast(limit, figures)
    return Q(GreaterThanOrEqual(spent * 100, most * F(warn_at)), **{f"{used}__gt": 0})


_DAY_LIMIT = "workspace__tier__runs_per_day"
_TO_WARN = ~Q(warned_period=F("period_start")) & (
    _passes("spent_tokens", "max_tokens", "warn_at") | _passes("spent_usd", "max_usd", "warn_at")
)
_REFUSED = Q(exceeded_period__isnull=False) & ~Q(exceeded_notified_period=F("exceeded_period"))
_DAY_TO_WARN = ~Q(warned_period=F("starts_at")) & _passes(
    "runs", _DAY_LIMIT, "workspace__tier__warn_at"
)
_DAY_REACHED = ~Q(exceeded_period=F("starts_at")) & Q(runs__gte=F(_DAY_LIMIT))


def send_quota_notices() -> int:
    """Send due quota notices; return the number of audit entries. Safe to run concurrently."""
    sent = 0
    for workspace_id in workspaces_with_notices():
        try:
            sent += _tell(workspace_id)
        except DatabaseError:  # the next call tries again
            logger.exception("the quota notices of workspace %s were not sent", workspace_id)
    return sent


def workspaces_with_notices() -> list[int]:
    """Return the workspaces that have a quota to report, usually none. Locks nothing."""
    budgets = Budget.objects.filter(_TO_WARN | _REFUSED)
    days = RunCount.objects.filter(_DAY_TO_WARN | _DAY_REACHED, agent=None)
    found = (rows.order_by().values_list("workspace_id", flat=True) for rows in (budgets, days))
    return sorted(next(found).union(next(found)))


@transaction.atomic
def _tell(workspace_id: int) -> int:
    """Report each due quota. Rows that are locked by running usage are left to the next call."""
    lock_chain(workspace_id)  # first: usage waits for rows that are locked below
    workspace = Workspace.objects.select_related("tier").get(pk=workspace_id)
    budgets = Budget.objects.filter(_TO_WARN | _REFUSED, workspace=workspace).order_by("pk")
    budgets = budgets.select_for_update(skip_locked=True, no_key=True, of=("self",))
    days = RunCount.objects.filter(_DAY_TO_WARN | _DAY_REACHED, workspace=workspace, agent=None)
    days = days.select_for_update(skip_locked=True, no_key=True, of=("self",))
    sent = sum(_tell_of_budget(workspace, row) for row in budgets.select_related("agent", "person"))
    return sent + sum(_tell_of_day(workspace, row) for row in days)


def _tell_of_budget(workspace: Workspace, row: Budget) -> int:
    label = _label(workspace, row)
    notices: list[tuple[str, datetime]] = []
    if row.warned_period != row.period_start and _percent_of(row) >= row.warn_at:
        notices.append((_WARNING, row.period_start))
        row.warned_period = row.period_start
    if row.exceeded_period is not None and row.exceeded_notified_period != row.exceeded_period:
        notices.append((_REACHED, row.exceeded_period))
        row.exceeded_notified_period = row.exceeded_period
    for event, start in notices:
        details = _budget_details(row, start)
        target = f"budget:{row.pk}"
        record(SYSTEM, event, workspace=workspace, target=target, label=label, details=details)
    row.save(update_fields=["warned_period", "exceeded_notified_period"])
    return len(notices)


def _tell_of_day(workspace: Workspace, row: RunCount) -> int:
    tier = workspace.tier
    if tier is None or tier.runs_per_day is None:
        return 0
    percent = _percent(row.runs, tier.runs_per_day)
    details = {
        "period": "day",
        "since": row.starts_at.isoformat(),
        "runs": row.runs,
        "max_runs": tier.runs_per_day,
        "percent": percent,
    }
    events = []
    if row.warned_period != row.starts_at and percent >= tier.warn_at:
        events.append(_WARNING)
        row.warned_period = row.starts_at
    if row.exceeded_period != row.starts_at and row.runs >= tier.runs_per_day:
        events.append(_REACHED)
        row.exceeded_period = row.starts_at
    label = f"the runs a day of tier {tier.name}"
    for event in events:
        target = f"tier:{tier.pk}"
        record(SYSTEM, event, workspace=workspace, target=target, label=label, details=details)
    row.save(update_fields=["warned_period", "exceeded_period"])
    return len(events)


def _label(workspace: Workspace, row: Budget) -> str:
    if row.from_tier:
        return f"the month of tier {workspace.tier}"
    return f"the {row.period}'s budget of {row.whose or 'the workspace'}"


def allow_until_spent(budget_id: int) -> None:
    """Let the runs that a budget counts go on in its present period, until it is spent."""
    start = Func(F("period"), Now(), Value("UTC"), function="date_trunc")
    Budget.objects.filter(pk=budget_id).update(allowed_period=start)


def _budget_details(row: Budget, start: datetime) -> dict[str, Any]:
    """Return a budget's usage in the period from ``start``; zero if the row is older."""
    is_current = row.period_start >= start
    return {
        "period": row.period,
        "since": start.isoformat(),
        "tokens": row.spent_tokens if is_current else 0,
        "max_tokens": row.max_tokens,
        "usd": _usd(row.spent_usd if is_current else Decimal(0)),
        "max_usd": None if row.max_usd is None else _usd(row.max_usd),
        "percent": _percent_of(row) if is_current else 0,
    }


def _percent_of(row: Budget) -> int:
    used = ((row.spent_tokens, row.max_tokens), (row.spent_usd, row.max_usd))
    return max(_percent(spent, most) for spent, most in used if most is not None)


def _percent(used: Decimal | int, limit: Decimal | int) -> int:
    if not limit:
        return 100 if used else 0
    return min(int(100 * used / limit), _MOST_PERCENT)


def _usd(amount: Decimal) -> str:
    return f"{amount.normalize():f}"
