"""What the response about a workspace's usage holds, and the read model in that form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ninja import Schema
from pydantic import Field

from heartbit_site.api.forms import money, time

if TYPE_CHECKING:
    from agents.usage import BudgetUse, Gauge, Usage

State = Literal["unlimited", "open", "nearly", "spent"]


class CountGaugeOut(Schema):
    """A count, and the limit that it has."""

    used: int
    limit: int | None = Field(description="Null: there is none.")
    percent: int | None = Field(description="Of the limit; it may be more than 100.")
    state: State = Field(
        description="nearly: the percentage is reached from which on it warns; spent: no more."
    )


class MoneyGaugeOut(Schema):
    """An amount of US dollars, and the limit that it has."""

    used: str
    limit: str | None = Field(description="Null: there is none.")
    percent: int | None = Field(description="Of the limit; it may be more than 100.")
    state: State


class BudgetUseOut(Schema):
    """A budget, and what was spent of it in this period."""

    agent: str | None = Field(description="Whose; null: all of the workspace.")
    period: Literal["day", "month"]
    tokens: CountGaugeOut | None = Field(description="Null: it does not limit them.")
    usd: MoneyGaugeOut | None = Field(description="Null: it does not limit it.")


class AgentUseOut(Schema):
    """What the runs of an agent used this month."""

    agent: str | None = Field(description="Null: of runs that are deleted by now.")
    runs: int = Field(description="Also those that orchestrators gave it.")
    tokens: int
    cost_usd: str = Field(description="Of the calls whose price is known.")
    unpriced_calls: int


class DayUseOut(Schema):
    """What a day brought."""

    day: str = Field(description="UTC, as 2026-11-22.")
    runs: int = Field(description="Those that somebody started, of which there still is a row.")
    tokens: int
    cost_usd: str


class WorkspaceUsageOut(Schema):
    """What the workspace has used. Days and months begin at midnight UTC."""

    tier: str | None = Field(description="Null: no limits but those of the budgets.")
    runs_today: CountGaugeOut
    tokens_this_month: CountGaugeOut
    usd_this_month: MoneyGaugeOut
    runs_at_once: CountGaugeOut = Field(description="Of the fleet; now.")
    queued: int = Field(description="Runs that could start now if there were room.")
    unpriced_calls: int = Field(description="Of this month: what they cost is not known.")
    day_ends: str
    month_ends: str
    budgets: list[BudgetUseOut]
    agents: list[AgentUseOut] = Field(description="The first 100, the most expensive first.")
    days: list[DayUseOut] = Field(description="The last 30, today last.")


def usage(found: Usage) -> dict[str, Any]:
    """All of it."""
    runs, tokens, usd, at_once = found.gauges
    return {
        "tier": found.tier or None,
        "runs_today": _count(runs),
        "tokens_this_month": _count(tokens),
        "usd_this_month": _money(usd),
        "runs_at_once": _count(at_once),
        "queued": found.queued,
        "unpriced_calls": found.unpriced,
        "day_ends": time(found.day_ends),
        "month_ends": time(found.month_ends),
        "budgets": [_budget(each) for each in found.budgets],
        "agents": [
            {
                "agent": each.name or None,
                "runs": each.runs,
                "tokens": each.tokens,
                "cost_usd": money(each.usd),
                "unpriced_calls": each.unpriced,
            }
            for each in found.agents
        ],
        "days": [
            {
                "day": each.day.isoformat(),
                "runs": each.runs,
                "tokens": each.tokens,
                "cost_usd": money(each.usd),
            }
            for each in found.days
        ],
    }


def _count(gauge: Gauge) -> dict[str, Any]:
    limit = None if gauge.limit is None else int(gauge.limit)
    return {
        "used": int(gauge.used),
        "limit": limit,
        "percent": gauge.percent,
        "state": gauge.state,
    }


def _money(gauge: Gauge) -> dict[str, Any]:
    return {
        "used": money(gauge.used),
        "limit": money(gauge.limit),
        "percent": gauge.percent,
        "state": gauge.state,
    }


def _budget(budget: BudgetUse) -> dict[str, Any]:
    gauges = {gauge.name: gauge for gauge in budget.gauges}
    return {
        "agent": budget.agent or None,
        "period": budget.period,
        "tokens": _count(gauges["tokens"]) if "tokens" in gauges else None,
        "usd": _money(gauges["usd"]) if "usd" in gauges else None,
    }
