"""Usage of a workspace against its limits, for the page Usage and the API.

Days and months are those of the quotas: they begin at midnight UTC by the database's clock.

Usage::

    usage = usage_of(workspace)    # seven queries, each bounded by a month or by live rows
    for gauge in usage.gauges: ...
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from heartbit_site.base.query import fetch_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    from heartbit_site.base.models import Workspace

State = Literal["unlimited", "ok", "warning", "exceeded"]
DAYS = 30
MOST_AGENTS = 100
NO_AGENT = ""  # for ledger entries of deleted runs

_NOW = """
    SELECT x.day AT TIME ZONE 'UTC' AS day, x.month AT TIME ZONE 'UTC' AS month, x.day AS day_start,
           x.month AS month_start, x.day + interval '1 day' AS day_ends,
           (x.month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC' AS month_ends,
           t.name AS tier, t.runs_per_day, t.tokens_per_month, t.usd_per_month, t.runs_at_once,
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
    LEFT JOIN agents_runcount c
        ON c.workspace_id = w.id AND c.agent_id IS NULL AND c.starts_at >= x.day
"""
_RUNS = """
    SELECT (r.created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS runs FROM agents_run r
    WHERE r.workspace_id = %(workspace)s AND r.created_at >= %(since)s AND r.parent_id IS NULL
    GROUP BY 1
"""
_CALLS = """
    SELECT (u.at AT TIME ZONE 'UTC')::date AS day,
           sum(u.input_tokens::bigint + u.output_tokens)::bigint AS tokens,
           coalesce(sum(u.cost_usd), 0) AS usd, count(*) - count(u.cost_usd) AS unpriced
    FROM base_usageentry u WHERE u.workspace_id = %(workspace)s AND u.at >= %(since)s
    GROUP BY 1
"""
# The ledger has no foreign key to runs, which may be deleted.
_AGENTS = """
    SELECT coalesce(x.agent, '') AS name, coalesce(sum(x.runs), 0)::bigint AS runs,
           coalesce(sum(x.tokens), 0)::bigint AS tokens, coalesce(sum(x.usd), 0) AS usd,
           coalesce(sum(x.unpriced), 0)::bigint AS unpriced
    FROM (
        SELECT r.agent, count(*) AS runs, 0 AS tokens, 0 AS usd, 0 AS unpriced FROM agents_run r
        WHERE r.workspace_id = %(workspace)s AND r.created_at >= %(since)s GROUP BY r.agent
        UNION ALL
        SELECT r.agent, 0, sum(u.input_tokens::bigint + u.output_tokens), sum(u.cost_usd),
               count(*) - count(u.cost_usd)
        FROM base_usageentry u LEFT JOIN agents_run r ON r.id = u.run_id
        WHERE u.workspace_id = %(workspace)s AND u.at >= %(since)s GROUP BY r.agent
    ) x
    GROUP BY 1 ORDER BY usd DESC, tokens DESC, runs DESC, name LIMIT %(most)s
"""
_BUDGETS = """
    SELECT b.period, b.from_tier, b.max_tokens, b.max_usd, b.warn_at, coalesce(a.name, '') AS agent,
           heartbit_spent_tokens(b) AS tokens, heartbit_spent_usd(b) AS usd,
           b.exceeded_period >= date_trunc(b.period, clock_timestamp(), 'UTC') IS TRUE AS stopped
    FROM agents_budget b LEFT JOIN agents_agent a ON a.id = b.agent_id
    WHERE b.workspace_id = %(workspace)s ORDER BY a.name NULLS FIRST, b.period
"""


@dataclass(frozen=True, slots=True)
class Gauge:
    """Amount used, with its limit.

    Attributes:
        name: ``runs`` (a day), ``tokens`` and ``usd`` (a month), or ``runs_at_once`` (now).
        limit: Limit; None: unlimited.
        warn_at: Percentage from which the state is ``warning``.
        stopped: True if a call was refused because too little is left.
    """

    name: str
    used: Decimal
    limit: Decimal | None
    warn_at: int = 80
    stopped: bool = False

    @property
    def percent(self) -> int | None:
        """Percentage used, possibly above 100; None without a limit."""
        if self.limit is None:
            return None
        return int(100 * self.used / self.limit) if self.limit else 100

    @property
    def state(self) -> State:
        """State of the gauge, as one word."""
        percent = self.percent
        if percent is None:
            return "unlimited"
        if percent >= 100 or self.stopped:
            return "exceeded"
        return "warning" if percent >= self.warn_at else "ok"


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """A budget of the workspace or of an agent, with the amounts spent in this period.

    Attributes:
        agent: Name of the agent; empty: the whole workspace.
        gauges: Limits of tokens, of US dollars, or both.
    """

    agent: str
    period: str
    gauges: tuple[Gauge, ...]

    @property
    def tokens(self) -> Gauge | None:
        """Limit of tokens; None: unlimited."""
        return self._limit("tokens")

    @property
    def usd(self) -> Gauge | None:
        """Limit of US dollars; None: unlimited."""
        return self._limit("usd")

    def _limit(self, name: str) -> Gauge | None:
        return next((gauge for gauge in self.gauges if gauge.name == name), None)


@dataclass(frozen=True, slots=True)
class AgentUse:
    """Usage of an agent's runs this month.

    Attributes:
        name: Name of the agent; ``NO_AGENT`` for deleted runs.
        runs: Number of runs, including those that orchestrators delegated.
        usd: US dollars of the calls whose price is known; ``unpriced`` counts the others.
    """

    name: str
    runs: int
    tokens: int
    usd: Decimal
    unpriced: int


@dataclass(frozen=True, slots=True)
class DayUse:
    """Usage of one day.

    Attributes:
        runs: Number of existing root runs started that day.
    """

    day: date
    runs: int = 0
    tokens: int = 0
    usd: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage and limits of a workspace.

    Attributes:
        tier: Name of the tier; empty: no tier, so no limits but the budgets.
        gauges: Runs of today, tokens and US dollars of this month, and running runs.
        queued: Number of runs that could start now if slots were free.
        unpriced: Number of calls of this month whose price is unknown.
        days: Last ``DAYS`` days, today last.
    """

    tier: str
    gauges: tuple[Gauge, ...]
    queued: int
    unpriced: int
    budgets: tuple[BudgetUse, ...]
    agents: tuple[AgentUse, ...]
    days: tuple[DayUse, ...]
    day_ends: datetime
    month_ends: datetime


def usage_of(workspace: Workspace) -> Usage:
    """Return the usage of a workspace."""
    (now,) = _rows(_NOW, workspace)
    today, first = now["day"].date(), now["month"].date()
    earliest = min(first, today - timedelta(days=DAYS - 1))
    since = datetime.combine(earliest, time(), tzinfo=UTC)
    calls = {row["day"]: row for row in _rows(_CALLS, workspace, since=since)}
    runs = {row["day"]: row["runs"] for row in _rows(_RUNS, workspace, since=since)}
    budgets = _rows(_BUDGETS, workspace)
    kept = next((row for row in budgets if row["from_tier"]), None)
    this_month = [row for day, row in calls.items() if day >= first]
    return Usage(
        tier=now["tier"] or "",
        gauges=_gauges(now, this_month, runs.get(today, 0), kept),
        queued=now["queued"],
        unpriced=sum(row["unpriced"] for row in this_month),
        budgets=tuple(
            BudgetUse(row["agent"], row["period"], _limits(row))
            for row in budgets
            if not row["from_tier"]
        ),
        agents=tuple(
            AgentUse(**row)
            for row in _rows(_AGENTS, workspace, since=now["month_start"], most=MOST_AGENTS)
        ),
        days=tuple(
            _day(today - timedelta(days=before), runs, calls) for before in reversed(range(DAYS))
        ),
        day_ends=now["day_ends"],
        month_ends=now["month_ends"],
    )


def _gauges(
    now: dict[str, Any],
    calls: list[dict[str, Any]],
    runs: int,
    kept: dict[str, Any] | None,
) -> tuple[Gauge, ...]:
    """Return the tier's gauges, with the counts that the limits are enforced by."""
    limited = {gauge.name: gauge for gauge in _limits(kept)} if kept is not None else {}
    counted = runs if None in (now["runs_per_day"], now["counted"]) else now["counted"]
    tokens = sum((Decimal(row["tokens"]) for row in calls), Decimal(0))
    usd = sum((row["usd"] for row in calls), Decimal(0))
    warn_at = now["warn_at"]
    return (
        Gauge("runs", Decimal(counted), _decimal(now["runs_per_day"]), warn_at),
        limited.get("tokens") or Gauge("tokens", tokens, None),
        limited.get("usd") or Gauge("usd", usd, None),
        Gauge("runs_at_once", Decimal(now["running"]), _decimal(now["runs_at_once"]), warn_at),
    )


def _limits(row: dict[str, Any]) -> tuple[Gauge, ...]:
    """Return a budget's gauges; if it has refused a call, the fullest gauge is marked stopped."""
    limits = (("tokens", row["tokens"], row["max_tokens"]), ("usd", row["usd"], row["max_usd"]))
    gauges = [
        Gauge(name, Decimal(used), Decimal(limit), row["warn_at"])
        for name, used, limit in limits
        if limit is not None
    ]
    if row["stopped"]:
        nearest = max(gauges, key=lambda gauge: gauge.percent or 0)
        gauges[gauges.index(nearest)] = replace(nearest, stopped=True)
    return tuple(gauges)


def _day(day: date, runs: dict[date, int], calls: dict[date, dict[str, Any]]) -> DayUse:
    called = calls.get(day, {})
    return DayUse(day, runs.get(day, 0), called.get("tokens", 0), called.get("usd", Decimal(0)))


def _decimal(limit: int | Decimal | None) -> Decimal | None:
    return None if limit is None else Decimal(limit)


def _rows(query: str, workspace: Workspace, **values: datetime | int) -> list[dict[str, Any]]:
    return fetch_named(query, {"workspace": workspace.pk, **values})


def alerts(usage: Usage) -> Iterable[tuple[Gauge, str]]:
    """Yield the gauges of tier and budgets that are nearly or fully used, with their owner."""
    for gauge in usage.gauges:
        if gauge.state in ("warning", "exceeded"):
            yield gauge, f"tier {usage.tier}"
    for budget in usage.budgets:
        whose = f"agent {budget.agent}" if budget.agent else "the workspace"
        for gauge in budget.gauges:
            if gauge.state in ("warning", "exceeded"):
                yield gauge, f"the {budget.period}'s budget of {whose}"
