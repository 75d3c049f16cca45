"""Views of a workspace's usage against its limits. Needs no Django."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from heartbit_site.base.view import Money, Time, View

State = Literal["unlimited", "ok", "warning", "exceeded"]


#: A name that rows leave empty if there is none.
NameOrNull = Annotated[str | None, BeforeValidator(lambda name: name or None)]


class CountGaugeOut(View):
    """A count, and the limit that it has."""

    used: int
    limit: int | None = Field(description="Null: there is none.")
    percent: int | None = Field(description="Percentage of the limit; it may exceed 100.")
    state: State = Field(
        description="warning: the percentage that warns is reached; exceeded: nothing is left."
    )


class MoneyGaugeOut(View):
    """An amount of US dollars, and the limit that it has."""

    used: Money
    limit: Money | None = Field(description="Null: there is none.")
    percent: int | None = Field(description="Percentage of the limit; it may exceed 100.")
    state: State


class BudgetUseOut(View):
    """A budget, and what was spent of it in this period."""

    agent: NameOrNull = Field(description="Whose; null: all of the workspace.")
    period: Literal["day", "month"]
    tokens: CountGaugeOut | None = Field(description="Null: it does not limit them.")
    usd: MoneyGaugeOut | None = Field(description="Null: it does not limit it.")


class AgentUseOut(View):
    """Use of an agent's runs this month."""

    agent: NameOrNull = Field(description="Null: of runs that are deleted by now.")
    runs: int = Field(description="Runs, delegated ones included.")
    tokens: int
    cost_usd: Money = Field(description="US dollars of the calls whose price is known.")
    unpriced_calls: int


class DayUseOut(View):
    """Use of one day."""

    day: date = Field(description="UTC, as 2026-11-22.")
    runs: int = Field(description="Runs started by people and keys that are not archived.")
    tokens: int
    cost_usd: Money


class WorkspaceUsageOut(View):
    """Use of the workspace. Days and months begin at midnight UTC."""

    tier: NameOrNull = Field(description="Null: no limits but those of the budgets.")
    runs_today: CountGaugeOut
    tokens_this_month: CountGaugeOut
    usd_this_month: MoneyGaugeOut
    runs_at_once: CountGaugeOut = Field(description="Runs of the fleet that are running now.")
    queued: int = Field(description="Runs that could start now if there were room.")
    unpriced_calls: int = Field(description="Calls of this month whose price is unknown.")
    day_ends: Time
    month_ends: Time
    budgets: list[BudgetUseOut]
    agents: list[AgentUseOut] = Field(description="The first 100, the most expensive first.")
    days: list[DayUseOut] = Field(description="The last 30, today last.")
