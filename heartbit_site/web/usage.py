"""The usage page: a workspace's usage and limits, rendered by the server without a script."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.utils import timezone

from agents.reads.usage import DAYS, alerts, usage_of
from heartbit_site.base import amounts
from heartbit_site.web.page import page, show

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from django.http import HttpRequest, HttpResponse

    from agents.reads.usage import AgentUse, BudgetUse, DayUse, Gauge, Usage
    from heartbit_site.base.access import Access

LABELS = {
    "runs": "Runs today",
    "tokens": "Tokens this month",
    "usd": "Money this month",
    "runs_at_once": "Runs active now",
}
#: Unit after an amount in a sentence.
NOUNS = {"runs": " runs", "tokens": " tokens", "usd": "", "runs_at_once": " runs"}
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
    def said(self) -> str:
        """Usage and limit in one line."""
        return f"{self.used} of {self.limit}" if self.limit else f"{self.used}, no limit"


@dataclass(frozen=True, slots=True)
class Alert:
    """A limit that is nearly or fully used."""

    is_spent: bool
    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A day's column in a chart; the numbers are SVG coordinates."""

    x: str
    y: str
    height: str
    said: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of one value for the last days.

    Attributes:
        title: Name of the value.
        total: Sum over all days.
        most: Maximum of a day.
        slot: Width of a day, of which a column fills ``width``.
    """

    title: str
    total: str
    most: str
    columns: tuple[Column, ...]
    slot: str
    width: str


@page("runs:read")
def usage(request: HttpRequest, access: Access) -> HttpResponse:
    """Show limits, the last days, usage by agent, and budgets."""
    found = usage_of(access.workspace)
    is_used = bool(found.agents) or any(day.runs or day.tokens for day in found.days)
    context = {
        "tier": found.tier,
        "bars": _gauges(found),
        "alerts": [_alert(gauge, whose) for gauge, whose in alerts(found)],
        "charts": (
            _chart("Runs", found.days, lambda day: day.runs, _count),
            _chart("Tokens", found.days, lambda day: day.tokens, _count),
            _chart("US dollars", found.days, lambda day: day.usd, amounts.money),
        ),
        "measure": {"width": WIDTH, "height": HEIGHT},
        "first": f"{found.days[0].day:%-d %b}",
        "last": f"{found.days[-1].day:%-d %b}",
        "days": [_day(day) for day in reversed(found.days)],
        "agents": [_agent(agent) for agent in found.agents],
        "budgets": [_budget(budget, found) for budget in found.budgets],
        "unpriced": amounts.counted(found.unpriced, "call") if found.unpriced else "",
        "is_empty": not found.tier and not found.budgets and not is_used,
        "number_of_days": DAYS,
    }
    return show(request, access, "web/usage.html", context, here="usage")


def _gauges(found: Usage) -> list[Bar]:
    ends = {"runs": found.day_ends, "tokens": found.month_ends, "usd": found.month_ends}
    bars = [_bar(LABELS[each.name], each, ends.get(each.name)) for each in found.gauges]
    if found.queued:
        waiting = f"{amounts.counted(found.queued, 'run')} waiting"
        bars[-1] = replace(bars[-1], more=f"{bars[-1].more} · {waiting}")
    return bars


def _bar(label: str, gauge: Gauge, ends: datetime | None) -> Bar:
    percent = gauge.percent
    if percent is None:
        return Bar(label, _amount(gauge.name, gauge.used), "", gauge.state, None, "no limit")
    limit = _amount(gauge.name, gauge.limit or Decimal(0))
    more = f"{percent} %"
    if ends is not None:
        more += f" · resets in {amounts.duration(ends - timezone.now())}"
    used = _amount(gauge.name, gauge.used)
    return Bar(label, used, limit, gauge.state, min(100, percent), more)


def _alert(gauge: Gauge, whose: str) -> Alert:
    limit = _amount(gauge.name, gauge.limit or Decimal(0))
    what = f"{_amount(gauge.name, gauge.used)} of {limit}{NOUNS[gauge.name]} ({whose})"
    if gauge.name == "runs_at_once":
        full = gauge.state == "exceeded"
        follows = "further runs wait until one of these ends or waits itself" if full else ""
        text = f"Active: {what}" + (f": {follows}." if follows else ".")
        return Alert(is_spent=False, text=text)
    if gauge.state == "exceeded":
        follows = "model calls are refused until the next period begins"
        if gauge.name == "runs":
            follows = "no more runs can be started before midnight UTC"
        return Alert(is_spent=True, text=f"Used up: {what}: {follows}.")
    return Alert(is_spent=False, text=f"Nearly used up: {what}, {gauge.percent} %.")


def _budget(budget: BudgetUse, found: Usage) -> dict[str, Any]:
    ends = found.day_ends if budget.period == "day" else found.month_ends
    names = {"tokens": "Tokens", "usd": "US dollars"}
    return {
        "whose": budget.agent or "the whole workspace",
        "period": budget.period,
        "bars": [_bar(names[gauge.name], gauge, ends) for gauge in budget.gauges],
    }


def _agent(agent: AgentUse) -> dict[str, Any]:
    cost = amounts.money(agent.usd)
    if agent.unpriced:
        cost += f" + {amounts.counted(agent.unpriced, 'call')} without a price"
    return {"name": agent.name, "cells": (_count(agent.runs), _count(agent.tokens), cost)}


def _day(day: DayUse) -> dict[str, Any]:
    cells = (_count(day.runs), _count(day.tokens), amounts.money(day.usd))
    return {"name": f"{day.day:%a %-d %b}", "cells": cells}


def _chart(
    title: str,
    days: Sequence[DayUse],
    value: Callable[[DayUse], Decimal | int],
    said: Callable[[Decimal], str],
) -> Chart:
    values = [Decimal(value(day)) for day in days]
    most, slot = max(values), Decimal(WIDTH) / len(days)
    columns = []
    for number, (day, amount) in enumerate(zip(days, values, strict=True)):
        # A thin line at least, unless the value is zero.
        height = max(Decimal(2), HEIGHT * amount / most) if amount else Decimal(0)
        columns.append(
            Column(
                x=f"{number * slot:.1f}",
                y=f"{HEIGHT - height:.1f}",
                height=f"{height:.1f}",
                said=f"{day.day:%a %-d %b}: {said(amount)}",
            )
        )
    return Chart(
        title=title,
        total=said(sum(values, Decimal(0))),
        most=said(most),
        columns=tuple(columns),
        slot=f"{slot:.1f}",
        width=f"{slot * Decimal('0.7'):.1f}",
    )


def _amount(name: str, value: Decimal) -> str:
    return amounts.money(value) if name == "usd" else _count(value)


def _count(value: Decimal | int) -> str:
    return f"{int(value):,}"
