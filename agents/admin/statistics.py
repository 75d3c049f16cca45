"""The dashboard's figures: a fixed number of queries, each bounded by days or by an index.

Everything is of the workspaces that the reader belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import Aggregate, Count, DurationField, ExpressionWrapper, F, Q, Sum
from django.db.models.functions import TruncDate
from django.utils import timezone

from agents.admin import queries
from agents.choices import LIVE, RunStatus
from agents.models import Run
from heartbit_site.base.access import visible_to, workspaces_of
from heartbit_site.base.models import UsageEntry
from heartbit_site.base.query import fetch_all

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.db.models import QuerySet

DAYS = 14
LAST_RUNS = 60
TOP = 6
FAILED = (RunStatus.FAILED, RunStatus.QUARANTINED)


# The ledger has no key to runs, which may be deleted by now: a join, in one pass over both.
_COST = """
    SELECT r.agent, coalesce(sum(u.cost_usd), 0) AS cost, count(*) - count(u.cost_usd) AS unpriced
    FROM base_usageentry u JOIN agents_run r ON r.id = u.run_id
    WHERE u.at >= %(since)s AND (%(mine)s::bigint[] IS NULL OR u.workspace_id = ANY (%(mine)s))
    GROUP BY r.agent ORDER BY cost DESC, count(*) DESC LIMIT %(most)s
"""


class Percentile(Aggregate):
    """``percentile_cont``, of durations."""

    template = "percentile_cont(%(quantile)s) WITHIN GROUP (ORDER BY %(expressions)s)"
    output_field = DurationField()


@dataclass(slots=True)
class Day:
    """Statistics of one day, in the current time zone.

    Attributes:
        runs: Those that people started, by status.
        median: How long the ended ones took from start to end; None: none ended.
        slow: The 95th percentile of the same.
        calls: Model calls; ``unpriced`` of them have no known price, ``cost`` is the others'.
    """

    day: date
    runs: dict[str, int] = field(default_factory=dict)
    median: timedelta | None = None
    slow: timedelta | None = None
    calls: int = 0
    unpriced: int = 0
    cost: Decimal = Decimal(0)

    @property
    def total(self) -> int:
        """All runs of the day."""
        return sum(self.runs.values())

    @property
    def failed(self) -> int:
        """Number of runs that failed or were quarantined."""
        return self.count(FAILED)

    def count(self, statuses: Iterable[str]) -> int:
        """Return the number of the day's runs with one of these statuses."""
        return sum(self.runs.get(status, 0) for status in statuses)

    @property
    def begins(self) -> datetime:
        """First moment of the day."""
        return timezone.make_aware(datetime.combine(self.day, time()))

    @property
    def ends(self) -> datetime:
        """The next day's first moment."""
        return timezone.make_aware(datetime.combine(self.day + timedelta(days=1), time()))


@dataclass(frozen=True, slots=True)
class Figures:
    """Statistics of all days, and of the present moment.

    Attributes:
        days: The last ``DAYS``, today last.
        live: Live runs by status, sub-agents included.
        waiting: Tool calls that wait for a person.
        quarantined: Runs that crashed their workers, for a person to resolve.
        last: The newest runs that people started, the newest first.
        most_runs: Agents with their numbers of runs and of failed runs, the first ones.
        most_cost: Agents with their known cost and their number of calls without a price.
    """

    days: list[Day]
    live: dict[str, int]
    waiting: int
    quarantined: int
    last: list[Run]
    most_runs: list[tuple[str, int, int]]
    most_cost: list[tuple[str, Decimal, int]]


def read(user: Any) -> Figures:
    """Read them: nine queries, and for a member one more."""
    today = timezone.localdate()
    days = [Day(today - timedelta(days=before)) for before in range(DAYS - 1, -1, -1)]
    since, until = days[0].begins, days[-1].ends
    runs = visible_to(Run.objects.order_by(), user)
    recent = runs.filter(created_at__gte=since, created_at__lt=until)
    started = recent.filter(parent__isnull=True)
    usage = visible_to(UsageEntry.objects.filter(at__gte=since, at__lt=until), user)
    by_date = {day.day: day for day in days}
    counted = started.values_list(TruncDate("created_at"), "status").annotate(Count("pk"))
    for day, status, count in counted:
        by_date[day].runs[status] = count
    for day, median, slow in _durations(started):
        by_date[day].median, by_date[day].slow = median, slow
    for day, calls, unpriced, cost in _spending(usage):
        found = by_date[day]
        found.calls, found.unpriced, found.cost = calls, unpriced, cost
    failed = Count("pk", filter=Q(status__in=FAILED))
    most_runs: Any = recent.values_list("agent").annotate(runs=Count("pk"), failed=failed)
    return Figures(
        days=days,
        # By finished_at, for which there is an index of the few that are live.
        live=dict(
            runs.filter(finished_at__isnull=True, status__in=LIVE)
            .values_list("status")
            .annotate(Count("pk"))
        ),
        waiting=visible_to(queries.waiting_calls(), user, path="run__workspace").count(),
        quarantined=runs.filter(status=RunStatus.QUARANTINED).count(),
        last=_last(runs, user),
        most_runs=list(most_runs.order_by("-runs", "agent")[:TOP]),
        most_cost=_most_cost(user, since),
    )


def _durations(started: QuerySet[Run]) -> Any:
    """Return by day the median and the 95th percentile of the durations of ended runs."""
    took = ExpressionWrapper(F("finished_at") - F("started_at"), output_field=DurationField())
    ended = started.filter(finished_at__isnull=False, started_at__isnull=False)
    return ended.values_list(TruncDate("created_at")).annotate(
        median=Percentile(took, quantile=0.5), slow=Percentile(took, quantile=0.95)
    )


def _spending(usage: QuerySet[UsageEntry]) -> Any:
    """Return by day the calls, those of them without a price, and the known cost."""
    unpriced = Count("pk", filter=Q(cost_usd__isnull=True))
    return (
        usage.order_by()
        .values_list(TruncDate("at"))
        .annotate(calls=Count("pk"), unpriced=unpriced, cost=Sum("cost_usd", default=Decimal(0)))
    )


def _last(runs: QuerySet[Run], user: Any) -> list[Run]:
    started = runs.filter(parent__isnull=True).select_related("workspace")
    started = started.defer("output", "error", "payload", "structured")
    # Ids are time-ordered and the key is an index; of a few workspaces another one knows the order.
    return list(started.order_by("-id" if user.is_superuser else "-created_at")[:LAST_RUNS])


def _most_cost(user: Any, since: datetime) -> list[tuple[str, Decimal, int]]:
    everywhere = user.is_active and user.is_superuser
    mine = None if everywhere else list(workspaces_of(user).values_list("pk", flat=True))
    return [*fetch_all(_COST, {"since": since, "mine": mine, "most": TOP})]
