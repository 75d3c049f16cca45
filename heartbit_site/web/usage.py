"""The tab Usage of Health: a workspace's usage and limits, drawn by the server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from agents.reads import views
from agents.reads.usage import DAYS, usage_of
from heartbit_site.base import amounts
from heartbit_site.base.access import Access
from heartbit_site.shell.moment import day
from heartbit_site.web.charts import Chart, Mark, Rect
from heartbit_site.web.health import tabs
from heartbit_site.web.page import page, show

Gauge = views.CountGaugeOut | views.MoneyGaugeOut

#: The gauges of the tier, by the fields of the view.
LABELS = {
    "runs_today": "Runs today",
    "tokens_this_month": "Tokens this month",
    "usd_this_month": "Money this month",
    "runs_at_once": "Runs active now",
}
#: The gauges of a budget.
BUDGET_LABELS = {"tokens": "Tokens", "usd": "US dollars"}
#: Size of the chart in its own coordinates; it is scaled to the available width.
WIDTH, HEIGHT = 600, 120


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit as a bar, and in words.

    Attributes:
        percent: Filled part of the bar, at most 100; None: there is no limit, and no bar.
        more: Text below the bar: percentage used, and the time of its reset.
    """

    label: str
    used: str
    limit: str
    state: str
    percent: int | None
    more: str

    @property
    def drawn(self) -> Chart:
        """The bar: the limit, and how much of it is used."""
        rects = (Rect("all", 0, 0, 100, 8), Rect("used", 0, 0, self.percent or 0, 8))
        return Chart(f"bar {self.state}", 100, 8, "", (Mark("", rects),))

    @property
    def said(self) -> str:
        """Usage and limit in one line."""
        return f"{self.used} of {self.limit}" if self.limit else f"{self.used}, no limit"


@page("runs:read")
def usage(request: HttpRequest, access: Access) -> HttpResponse:
    """Show limits, the last days, usage by agent, and budgets."""
    found = usage_of(access.workspace)
    days = found.days
    is_used = bool(found.agents) or any(one.runs or one.tokens for one in days)
    context = {
        "tier": found.tier,
        "bars": _bars(found),
        "alerts": [*_alerts(found)],
        "charts": (
            _chart("Runs", days, [one.runs for one in days], [one.failed for one in days]),
            _chart("Tokens", days, [one.tokens for one in days]),
            _chart("US dollars", days, [Decimal(one.cost_usd) for one in days]),
        ),
        "first": day(days[0].day),
        "last": day(days[-1].day),
        "days": [_row(day(one.day), one) for one in reversed(days)],
        "agents": [_agent(agent) for agent in found.agents],
        "budgets": [_budget(budget, found) for budget in found.budgets],
        "unpriced": amounts.counted(found.unpriced_calls, "call") if found.unpriced_calls else "",
        "memory_days": found.memory_days,
        "is_empty": not found.tier and not found.budgets and not is_used,
        "number_of_days": DAYS,
        "tabs": tabs(access),
        "tab": "usage",
    }
    return show(request, access, "web/usage.html", context, here="health")


def _bars(found: views.WorkspaceUsageOut) -> list[Bar]:
    ends = {"runs_today": found.day_ends, "runs_at_once": None}
    bars = [
        _bar(label, getattr(found, name), ends.get(name, found.month_ends))
        for name, label in LABELS.items()
    ]
    if found.queued:
        waiting = f"{amounts.counted(found.queued, 'run')} waiting"
        bars[-1] = replace(bars[-1], more=f"{bars[-1].more} · {waiting}")
    return bars


def _bar(label: str, gauge: Gauge, ends: datetime | None) -> Bar:
    used = _amount(gauge.used)
    if gauge.limit is None or gauge.percent is None:
        return Bar(label, used, "", gauge.state, None, "no limit")
    more = f"{gauge.percent} %"
    if ends is not None:
        more += f" · resets in {amounts.duration(ends - timezone.now())}"
    return Bar(label, used, _amount(gauge.limit), gauge.state, min(100, gauge.percent), more)


def _alerts(found: views.WorkspaceUsageOut) -> Iterator[dict[str, Any]]:
    """Yield limits of the tier and of budgets that are nearly or fully used, with their owners."""
    gauges = [(name, getattr(found, name), f"tier {found.tier}") for name in LABELS]
    for budget in found.budgets:
        whose = f"the {budget.period}'s budget of {budget.whose or 'the workspace'}"
        gauges += [(name, gauge, whose) for name, gauge in _limits(budget)]
    for name, gauge, whose in gauges:
        if gauge.state in ("warning", "exceeded"):
            yield _alert(name, gauge, whose)


def _alert(name: str, gauge: Gauge, whose: str) -> dict[str, Any]:
    unit = name.partition("_")[0]
    noun = "" if unit == "usd" else f" {unit}"
    what = f"{_amount(gauge.used)} of {_amount(gauge.limit or 0)}{noun} ({whose})"
    if name == "runs_at_once":
        full = gauge.state == "exceeded"
        follows = ": further runs wait until one of these ends or starts waiting" if full else ""
        return {"is_spent": False, "text": f"Active: {what}{follows}."}
    if gauge.state == "exceeded":
        follows = "model calls are refused until the next period begins"
        if unit == "runs":
            follows = "no more runs can be started before midnight UTC"
        return {"is_spent": True, "text": f"Used up: {what}: {follows}."}
    return {"is_spent": False, "text": f"Nearly used up: {what}, {gauge.percent} %."}


def _budget(budget: views.BudgetUseOut, found: views.WorkspaceUsageOut) -> dict[str, Any]:
    ends = found.day_ends if budget.period == "day" else found.month_ends
    return {
        "whose": budget.whose or "the whole workspace",
        "period": budget.period,
        "bars": [_bar(BUDGET_LABELS[name], gauge, ends) for name, gauge in _limits(budget)],
    }


def _limits(budget: views.BudgetUseOut) -> list[tuple[str, Gauge]]:
    limits = [(name, getattr(budget, name)) for name in BUDGET_LABELS]
    return [(name, gauge) for name, gauge in limits if gauge is not None]


def _agent(agent: views.AgentUseOut) -> dict[str, Any]:
    more = ""
    if agent.unpriced_calls:
        more = f" + {amounts.counted(agent.unpriced_calls, 'call')} without a price"
    return _row(agent.agent or "", agent, more)


def _row(name: str, use: views.AgentUseOut | views.DayUseOut, more: str = "") -> dict[str, Any]:
    cells = (_amount(use.runs), _amount(use.tokens), _amount(use.cost_usd) + more)
    return {"name": name, "cells": cells}


def _chart(
    title: str,
    days: Sequence[views.DayUseOut],
    values: Sequence[int | Decimal],
    failed: Sequence[int] = (),
) -> dict[str, Any]:
    most, slot = Decimal(max(values)), Decimal(WIDTH) / len(days)
    total, busiest = _amount(sum(values)), _amount(max(values))
    marks = []
    for number, (one, amount) in enumerate(zip(days, values, strict=True)):
        bad = failed[number] if failed else 0
        # At least a thin line, unless the value is zero.
        high = max(Decimal(2), HEIGHT * amount / most) if amount else Decimal(0)
        rects = [
            _column("slot", number, slot, Decimal(HEIGHT)),
            _column("column", number, slot, high),
        ]
        if bad:
            rects.append(_column("column failed", number, slot, HEIGHT * bad / most))
        said = f"{one.day:%-d %b}: {_amount(amount)}" + (f", {bad:,} failed" if bad else "")
        marks.append(Mark(said, tuple(rects)))
    said = (
        f"{title} of each of the last {DAYS} days: {total} in all, {busiest} on the busiest day. "
        "The table below has the figures."
    )
    return {
        "title": title,
        "failed": f"{sum(failed):,}" if any(failed) else "",
        "total": total,
        "most": busiest,
        "drawn": Chart("days", WIDTH, HEIGHT, said, tuple(marks)),
    }


def _column(kind: str, number: int, slot: Decimal, height: Decimal) -> Rect:
    width = slot if kind == "slot" else slot * Decimal("0.7")
    return Rect(kind, number * slot, HEIGHT - height, width, height)


def _amount(value: int | Decimal | str) -> str:
    """Return a count, or an amount of money."""
    return f"{value:,}" if isinstance(value, int) else amounts.money(Decimal(value))
