"""Usage of a workspace against its limits, for the tab Usage of Health and the API.

Days and months are those of the quotas: they begin at midnight UTC by the database's clock.

Usage::

    usage = usage_of(workspace)    # a few queries, bounded by hours of a month or by live rows
    usage.tokens_this_month.percent
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, TypeVar

from django.db.models import BigIntegerField, DecimalField, Func, QuerySet
from django.utils import timezone

from agents.models import Budget
from agents.reads.figures import over_figures, read_figures
from agents.reads.views import (
    AgentUseOut,
    BudgetUseOut,
    CountGaugeOut,
    DayUseOut,
    MoneyGaugeOut,
    WorkspaceUsageOut,
)
from heartbit_site.base.models import Workspace
from heartbit_site.base.people import with_accounts
from heartbit_site.base.query import fetch_named

GaugeOut = TypeVar("GaugeOut", CountGaugeOut, MoneyGaugeOut)

DAYS = 30
MOST_AGENTS = 100

_NOW = """
    SELECT x.day AT TIME ZONE 'UTC' AS day, x.month AT TIME ZONE 'UTC' AS month, x.day AS day_start,
           x.month AS month_start, x.day + interval '1 day' AS day_ends,
           (x.month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC' AS month_ends,
           t.name AS tier, t.runs_per_day, t.tokens_per_month, t.usd_per_month, t.runs_at_once,
           least(t.memory_days, m.kept_days) AS memory_days,
           coalesce(t.warn_at, 80) AS warn_at, c.runs AS counted,
           (SELECT count(*) FROM agents_run r WHERE r.workspace_id = w.id
            AND r.status = 'running' AND r.home = 'fleet') AS running,
           (SELECT count(*) FROM agents_run r WHERE r.workspace_id = w.id
            AND r.status = 'queued' AND r.home = 'fleet' AND r.available_at <= x.now) AS queued
    FROM (SELECT n.now, date_trunc('day', n.now, 'UTC') AS day,
                 date_trunc('month', n.now, 'UTC') AS month
          FROM (SELECT clock_timestamp() AS now) n) x
    JOIN base_workspace w ON w.id = %(workspace)s
    LEFT JOIN base_tier t ON t.id = w.tier_id
    LEFT JOIN memory_memorypolicy m ON m.workspace_id = w.id
    LEFT JOIN agents_runcount c
        ON c.workspace_id = w.id AND c.agent_id IS NULL AND c.starts_at >= x.day
"""
_DAYS: Final = over_figures("""
    SELECT (start AT TIME ZONE 'UTC')::date AS day,
           coalesce(sum(runs) FILTER (WHERE is_root), 0)::bigint AS runs,
           coalesce(sum(failed) FILTER (WHERE is_root), 0)::bigint AS failed,
           sum(tokens)::bigint AS tokens, sum(cost_usd) AS cost_usd,
           sum(unpriced)::bigint AS unpriced
    FROM figures GROUP BY 1
""")
_AGENTS: Final = over_figures("""
    SELECT agent, sum(runs)::bigint AS runs, sum(tokens)::bigint AS tokens,
           sum(cost_usd) AS cost_usd, sum(unpriced)::bigint AS unpriced_calls
    FROM figures
    GROUP BY 1 ORDER BY cost_usd DESC, tokens DESC, runs DESC, agent LIMIT %(most)s
""")
_BUDGETS = with_accounts("""
    SELECT b.period, b.from_tier, b.max_tokens, b.max_usd, b.warn_at, coalesce(a.name, '') AS agent,
           coalesce(p.username, '') AS person, b.schedule,
           heartbit_spent_tokens(b) AS tokens, heartbit_spent_usd(b) AS usd,
           b.exceeded_period >= date_trunc(b.period, clock_timestamp(), 'UTC') IS TRUE AS stopped
    FROM agents_budget b LEFT JOIN agents_agent a ON a.id = b.agent_id
         LEFT JOIN auth_user p ON p.id = b.person_id
    WHERE b.workspace_id = %(workspace)s
    ORDER BY a.name NULLS FIRST, p.username NULLS FIRST, b.schedule, b.period
""")


def usage_of(workspace: Workspace) -> WorkspaceUsageOut:
    """Return the usage of a workspace."""
    (now,) = _rows(_NOW, workspace)
    today, first = now["day"].date(), now["month"].date()
    days = [today - timedelta(days=before) for before in reversed(range(DAYS))]
    begin = datetime.combine(min(first, days[0]), time(), tzinfo=UTC)
    by_day = {row["day"]: row for row in _figures(_DAYS, workspace, begin)}
    agents = _figures(_AGENTS, workspace, now["month_start"], most=MOST_AGENTS)
    budgets = _rows(_BUDGETS, workspace)
    kept = next((_budget(row) for row in budgets if row["from_tier"]), None)
    this_month = [row for day, row in by_day.items() if day >= first]
    counted = now["counted"]
    if None in (now["runs_per_day"], counted):
        counted = by_day[today]["runs"] if today in by_day else 0
    tokens, usd = (kept.tokens, kept.usd) if kept is not None else (None, None)
    called = sum(row["tokens"] for row in this_month)
    spent = sum((row["cost_usd"] for row in this_month), Decimal(0))
    warn_at = now["warn_at"]
    none: dict[str, Any] = {"tokens": 0, "cost_usd": Decimal(0), "runs": 0, "failed": 0}
    return WorkspaceUsageOut(
        tier=now["tier"],
        # The tier's gauges have the counts that its limits are enforced by.
        runs_today=gauge(CountGaugeOut, counted, now["runs_per_day"], warn_at),
        tokens_this_month=tokens or gauge(CountGaugeOut, called, None, warn_at),
        usd_this_month=usd or gauge(MoneyGaugeOut, spent, None, warn_at),
        runs_at_once=gauge(CountGaugeOut, now["running"], now["runs_at_once"], warn_at),
        queued=now["queued"],
        memory_days=now["memory_days"],
        unpriced_calls=sum(row["unpriced"] for row in this_month),
        day_ends=now["day_ends"],
        month_ends=now["month_ends"],
        budgets=[_budget(row) for row in budgets if not row["from_tier"]],
        agents=[AgentUseOut(**row) for row in agents],
        days=[DayUseOut(**{**none, **by_day.get(day, {}), "day": day}) for day in days],
    )


def _budget(row: dict[str, Any]) -> BudgetUseOut:
    """Return a budget; if it has refused a call, its fullest gauge is exceeded."""
    gauges: dict[str, CountGaugeOut | MoneyGaugeOut] = {}
    if (most := row["max_tokens"]) is not None:
        gauges["tokens"] = gauge(CountGaugeOut, row["tokens"], most, row["warn_at"])
    if (most := row["max_usd"]) is not None:
        gauges["usd"] = gauge(MoneyGaugeOut, row["usd"], most, row["warn_at"])
    if row["stopped"]:
        fullest = max(gauges, key=lambda name: gauges[name].percent or 0)
        gauges[fullest] = gauges[fullest].model_copy(update={"state": "exceeded"})
    return BudgetUseOut(**{**row, "tokens": None, "usd": None, **gauges})


def gauge(
    kind: type[GaugeOut], used: int | Decimal, limit: int | Decimal | None, warn_at: int
) -> GaugeOut:
    """Return a gauge; from ``warn_at`` percent on its state is ``warning``."""
    percent = None if limit is None else int(100 * used // limit) if limit else 100
    state = "ok"
    if percent is None:
        state = "unlimited"
    elif percent >= 100:
        state = "exceeded"
    elif percent >= warn_at:
        state = "warning"
    return kind.model_validate({"used": used, "limit": limit, "percent": percent, "state": state})


def _rows(query: str, workspace: Workspace) -> list[dict[str, Any]]:
    return fetch_named(query, {"workspace": workspace.pk})


def _figures(
    query: str, workspace: Workspace, begin: datetime, **values: Any
) -> list[dict[str, Any]]:
    return read_figures(query, workspace.pk, since=begin, now=timezone.now(), **values)


def with_spending(budgets: QuerySet[Budget]) -> QuerySet[Budget]:
    """Add what was spent in the current period, which a row may lag: tokens_now, usd_now."""
    annotated: QuerySet[Budget] = budgets.select_related("workspace", "agent", "person").annotate(
        tokens_now=Func(
            template="heartbit_spent_tokens(agents_budget)", output_field=BigIntegerField()
        ),
        usd_now=Func(template="heartbit_spent_usd(agents_budget)", output_field=DecimalField()),
    )
    return annotated


def tokens_used(budget: Any) -> CountGaugeOut:
    """Return the tokens of the current period, of a row of ``with_spending``."""
    return gauge(CountGaugeOut, budget.tokens_now, budget.max_tokens, budget.warn_at)


def usd_used(budget: Any) -> MoneyGaugeOut:
    """Return the US dollars of the current period, of a row of ``with_spending``."""
    return gauge(MoneyGaugeOut, budget.usd_now, budget.max_usd, budget.warn_at)
