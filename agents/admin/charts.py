"""Columns of a chart by day, ready to be drawn: heights in percent, words, and where they lead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from django.urls import reverse

from agents.choices import RunStatus
from heartbit_site.base import amounts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import timedelta

    from agents.admin.statistics import Day

#: The segments of a day's runs, from the bottom up: a name, its colour, the statuses.
OUTCOMES = (
    ("Succeeded", "success", (RunStatus.SUCCEEDED,)),
    ("Live", "info", (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.WAITING)),
    ("Cancelled", "warning", (RunStatus.CANCELLED,)),
    ("Failed", "danger", (RunStatus.FAILED, RunStatus.QUARANTINED)),
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a column; its share of the column is ``weight`` of all weights."""

    tone: str
    weight: int


@dataclass(frozen=True, slots=True)
class Column:
    """One day.

    Attributes:
        height: Percent of the chart; ``inner`` likewise, of a second value drawn inside.
        said: The whole day in words, for a pointer and for screen readers.
        link: Where the figure comes from.
    """

    label: str
    said: str
    link: str
    height: str
    inner: str = "0"
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns and the value of the highest one."""

    columns: list[Column]
    top: str


def runs_link(day: Day | None = None, **filters: str) -> str:
    """Return the address of the list of runs, of one day or with filters."""
    return _link("admin:agents_run_changelist", "created_at", day, filters)


def usage_link(day: Day | None = None, **filters: str) -> str:
    """Return the address of the list of model calls, of one day or with filters."""
    return _link("admin:base_usageentry_changelist", "at", day, filters)


def _link(page: str, moment: str, day: Day | None, filters: dict[str, str]) -> str:
    asked = dict(filters)
    if day is not None:
        asked |= {
            f"{moment}__gte": day.begins.isoformat(),
            f"{moment}__lt": day.ends.isoformat(),
        }
    url = reverse(page)
    return f"{url}?{urlencode(asked)}" if asked else url


def activity(days: list[Day]) -> Chart:
    """Runs by day, stacked by outcome."""
    most = max(day.total for day in days)
    columns = [
        Column(
            *_words(day, f"{amounts.counted(day.total, 'run')}{_outcomes(day)}"),
            link=runs_link(day),
            height=_percent(day.total, most),
            segments=tuple(
                Segment(tone, day.count(statuses)) for _, tone, statuses in reversed(OUTCOMES)
            ),
        )
        for day in days
    ]
    return Chart(columns, amounts.counted(most, "run"))


def spend(days: list[Day]) -> Chart:
    """Known cost by day."""
    most = max(day.cost for day in days)
    columns = [
        Column(
            *_words(day, f"{_cost(day)}, {amounts.counted(day.calls, 'model call')}"),
            link=usage_link(day),
            height=_percent(float(day.cost), float(most)),
        )
        for day in days
    ]
    return Chart(columns, amounts.money(most))


def latency(days: list[Day]) -> Chart:
    """Return the chart of run durations: the 95th percentile, and the median inside."""
    slowest = max((day.slow for day in days if day.slow is not None), default=None)
    columns = []
    for day in days:
        took = "no run ended"
        if day.median is not None and day.slow is not None:
            took = f"median {amounts.duration(day.median)}, p95 {amounts.duration(day.slow)}"
        columns.append(
            Column(
                *_words(day, took),
                link=runs_link(day),
                height=_percent(_seconds(day.slow), _seconds(slowest)),
                inner=_percent(_seconds(day.median), _seconds(day.slow)),
            )
        )
    return Chart(columns, amounts.duration(slowest) if slowest is not None else "")


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


def _words(day: Day, said: str) -> tuple[str, str]:
    """Return a column's label, and the whole day in words."""
    return f"{day.day.day}", f"{day.day:%a %d %b}: {said}"


def _outcomes(day: Day) -> str:
    said = [
        f"{count} {name.lower()}"
        for name, _, statuses in OUTCOMES
        if (count := day.count(statuses))
    ]
    return f" ({', '.join(said)})" if said else ""


def _cost(day: Day) -> str:
    if day.calls and day.calls == day.unpriced:
        return "cost unknown"
    known = amounts.money(day.cost)
    if not day.unpriced:
        return known
    return f"{known} and {amounts.counted(day.unpriced, 'call')} without a price"
