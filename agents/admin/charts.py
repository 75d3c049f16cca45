"""Columns of a chart by day, ready to be drawn: heights in percent, words, and where they lead."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from agents.admin import formatting
from agents.admin.statistics import Day
from agents.choices import RunStatus
from heartbit_site.base import amounts

#: The segments of a day's runs, from the bottom up: a name, its colour, the statuses.
OUTCOMES = (
    ("Succeeded", "success", (RunStatus.SUCCEEDED,)),
    ("Live", "info", (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING)),
    ("Cancelled", "warning", (RunStatus.CANCELLED,)),
    ("Failed", "danger", (RunStatus.FAILED, RunStatus.QUARANTINED)),
)


def runs_link(day: Day | None = None, **filters: str) -> str:
    """Return the address of the list of runs, of one day or with filters."""
    return _link("admin:agents_run_changelist", "created_at", day, filters)


def usage_link(day: Day | None = None, **filters: str) -> str:
    """Return the address of the list of model calls, of one day or with filters."""
    return _link("admin:base_usageentry_changelist", "at", day, filters)


def _link(page: str, moment: str, day: Day | None, filters: dict[str, str]) -> str:
    if day is not None:
        filters |= {
            f"{moment}__gte": day.begins.isoformat(),
            f"{moment}__lt": day.ends.isoformat(),
        }
    return f"{reverse(page)}?{urlencode(filters)}" if filters else reverse(page)


def _chart(
    days: list[Day],
    *,
    value: Callable[[Day], float],
    top: Callable[[float], str],
    words: Callable[[Day], str],
    link: Callable[[Day], str],
    parts: Callable[[Day], dict[str, Any]] = lambda _: {},
) -> dict[str, Any]:
    """Return a chart for ``chart.html``: the label of the highest column, and a column a day.

    Args:
        days: From left to right.
        value: What the height of a day's column shows.
        top: Return the label of the highest value.
        words: Return the day's figures in words, for a pointer and for screen readers.
        link: Return the address of the rows that are counted.
        parts: Return what is drawn inside the column: ``segments``, or the height ``inner``.
    """
    most = max(value(day) for day in days)
    columns = [
        {
            "label": day.day.day,
            "said": f"{day.day:%a %d %b}: {words(day)}",
            "link": link(day),
            "height": _percent(value(day), most),
            **parts(day),
        }
        for day in days
    ]
    return {"columns": columns, "top": top(most)}


def activity(days: list[Day]) -> dict[str, Any]:
    """Runs by day, stacked by outcome."""
    return _chart(
        days,
        value=lambda day: day.total,
        top=lambda most: amounts.counted(int(most), "run"),
        words=lambda day: f"{amounts.counted(day.total, 'run')}{_outcomes(day)}",
        link=runs_link,
        parts=lambda day: {
            "segments": [(tone, day.count(statuses)) for _, tone, statuses in reversed(OUTCOMES)]
        },
    )


def spend(days: list[Day]) -> dict[str, Any]:
    """Known cost by day."""
    return _chart(
        days,
        value=lambda day: float(day.cost),
        top=lambda most: amounts.money(Decimal(most)),
        words=lambda day: (
            f"{formatting.cost(day.cost, day.calls, day.unpriced)}, "
            f"{amounts.counted(day.calls, 'model call')}"
        ),
        link=usage_link,
    )


def latency(days: list[Day]) -> dict[str, Any]:
    """Return the chart of run durations: the 95th percentile, and the median inside."""
    return _chart(
        days,
        value=lambda day: _seconds(day.slow),
        top=lambda most: amounts.duration(timedelta(seconds=most)) if most else "",
        words=_durations,
        link=runs_link,
        parts=lambda day: {"inner": _percent(_seconds(day.median), _seconds(day.slow))},
    )


def legend(days: Iterable[Day]) -> list[tuple[str, str, int, str]]:
    """Return the outcomes: name, colour, count, and the address of the runs of all days."""
    found = list(days)
    return [
        (
            *(name, tone),
            sum(day.count(statuses) for day in found),
            runs_link(status__in=",".join(statuses), created_at__gte=found[0].begins.isoformat()),
        )
        for name, tone, statuses in OUTCOMES
    ]


def _seconds(span: timedelta | None) -> float:
    return 0.0 if span is None else max(0.0, span.total_seconds())


def _percent(part: float, whole: float) -> str:
    """At least a line where there is something."""
    if not part or not whole:
        return "0"
    return f"{max(2.0, 100 * part / whole):.1f}"


def _durations(day: Day) -> str:
    if day.median is None or day.slow is None:
        return "no run ended"
    return f"median {amounts.duration(day.median)}, p95 {amounts.duration(day.slow)}"


def _outcomes(day: Day) -> str:
    said = [
        f"{count} {name.lower()}"
        for name, _, statuses in OUTCOMES
        if (count := day.count(statuses))
    ]
    return f" ({', '.join(said)})" if said else ""
