"""The latest firings of schedules, each with its run, its delivery, its cost and its duration.

Usage::

    found = latest_firings([schedule.pk], 30)    # one query, whatever the number of schedules
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery
from django.db.models.expressions import RawSQL

from agents.models import Run
from scheduling.choices import Trigger
from scheduling.models import Firing
from scheduling.querysets import with_outcomes

#: A firing whose run starts later than this is late, its jitter aside.
PUNCTUAL = timedelta(minutes=1)

_LATEST = """
    SELECT f.id FROM unnest(%s::bigint[]) s CROSS JOIN LATERAL (
        SELECT id FROM scheduling_firing WHERE schedule_id = s
        ORDER BY scheduled_for DESC LIMIT %s) f
"""
# Of the run's whole tree: sub-agents work for the firing too.
_COST = """
    (SELECT sum(u.cost_usd) FROM agents_run t JOIN base_usageentry u ON u.run_id = t.id
     WHERE t.root_id = scheduling_firing.run_id)
"""


def latest_firings(schedules: Collection[int], most: int) -> dict[int, list[Any]]:
    """Return the latest firings of each schedule that has any, the oldest first."""
    newest = RawSQL(_LATEST, (list(schedules), most))  # noqa: S611  a constant
    found: dict[int, list[Any]] = {}
    for firing in with_figures(Firing.objects.filter(pk__in=newest)).order_by("scheduled_for"):
        found.setdefault(firing.schedule_id, []).append(firing)
    return found


def with_figures(firings: QuerySet[Firing]) -> QuerySet[Any]:
    """Annotate firings as ``with_outcomes`` does, and with ``began``, ``ended`` and ``cost``.

    ``cost`` is in US dollars; null if there was no call of a known price.
    """
    runs = Run.objects.filter(pk=OuterRef("run_id"))
    rows: QuerySet[Any] = with_outcomes(firings).annotate(
        began=Subquery(runs.values("started_at")[:1]),
        ended=Subquery(runs.values("finished_at")[:1]),
        cost=RawSQL(_COST, ()),  # noqa: S611  a constant
    )
    return rows


def lasted(firing: Any) -> timedelta | None:
    """Return the duration of an annotated firing's run; None until it has ended."""
    return firing.ended - firing.began if firing.ended and firing.began else None


def late_by(firing: Any, jitter_seconds: int, now: datetime) -> timedelta | None:
    """Return by how much an annotated firing's run began late; None if it was punctual.

    Only firings at the schedule's own times can be late. One whose run has not begun yet counts
    until now; one without a run is not late, but skipped or failed.
    """
    if firing.cause != Trigger.SCHEDULE or firing.run_id is None:
        return None
    begun = firing.began or (now if firing.ended is None else firing.created_at)
    late: timedelta = begun - firing.scheduled_for - timedelta(seconds=jitter_seconds)
    return late if late > PUNCTUAL else None


def total_cost(firings: Collection[Any]) -> Decimal:
    """Return the known cost of annotated firings, in US dollars."""
    return sum((one.cost for one in firings if one.cost is not None), start=Decimal(0))
