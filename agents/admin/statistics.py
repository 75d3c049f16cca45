"""The dashboard's figures: a fixed number of queries, each bounded by days or by an index.

Everything is of the workspaces that the reader belongs to. Days that are over hardly change, so
their figures are kept for ``PAST_SECONDS``: a page that reloads whenever a run ends counts today's
rows alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.db.models import Count, QuerySet
from django.db.models.expressions import RawSQL
from django.utils import timezone

from agents.admin.prompts import waiting_calls
from agents.choices import LIVE, RunStatus
from agents.models import Run
from heartbit_site.base.access import visible_to, workspaces_of
from heartbit_site.base.query import fetch_all

DAYS = 14
LAST_RUNS = 60
TOP = 6
FAILED = (RunStatus.FAILED, RunStatus.QUARANTINED)


#: For so long the figures of days that are over are kept.
PAST_SECONDS = 300

# Each day by its range of the index run_recent: one pass would read everybody's runs, and work out
# the day of each in its time zone.
_DAYS = """
    unnest(%(days)s::date[], %(begins)s::timestamptz[], %(ends)s::timestamptz[])
    AS d(day, begins, ends)
"""
_OF_DAY = """
    r.workspace_id = ANY (%(mine)s::bigint[])
    AND r.created_at >= d.begins AND r.created_at < d.ends
"""
_COUNTS = f"""
    SELECT d.day, x.* FROM {_DAYS} CROSS JOIN LATERAL (
        SELECT r.agent, r.status, r.parent_id IS NULL, count(*)
        FROM agents_run r WHERE {_OF_DAY} GROUP BY 1, 2, 3
    ) x
"""  # noqa: S608  constants
# As numbers, which are sorted several times as fast as intervals; a day without any has no row.
_DURATIONS = f"""
    SELECT d.day, x.slowness FROM {_DAYS} CROSS JOIN LATERAL (
        SELECT percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (
            ORDER BY extract(epoch FROM r.finished_at - r.started_at)::float8
        ) AS slowness
        FROM agents_run r
        WHERE {_OF_DAY}
              AND r.parent_id IS NULL AND r.finished_at IS NOT NULL AND r.started_at IS NOT NULL
    ) x
    WHERE x.slowness IS NOT NULL
"""  # noqa: S608  constants
# The ledger has no key to runs, which may be deleted by now. Nearly all calls are of the same days'
# runs, read in one go; what an older run used is looked up run by run.
_USAGE = f"""
    SELECT d.day, coalesce(r.agent, (SELECT o.agent FROM agents_run o WHERE o.id = u.run_id)),
           count(*), count(*) - count(u.cost_usd), coalesce(sum(u.cost_usd), 0)
    FROM {_DAYS}
    CROSS JOIN LATERAL (
        SELECT u.run_id, u.cost_usd FROM base_usageentry u
        WHERE u.workspace_id = ANY (%(mine)s::bigint[]) AND u.at >= d.begins AND u.at < d.ends
        OFFSET 0
    ) u
    LEFT JOIN (
        SELECT x.id, x.agent FROM {_DAYS} CROSS JOIN LATERAL (
            SELECT r.id, r.agent FROM agents_run r WHERE {_OF_DAY} OFFSET 0
        ) x
    ) r ON r.id = u.run_id
    GROUP BY 1, 2
"""  # noqa: S608  constants
# Of each workspace by its index: together they would all have to be sorted.
_LAST = """
    SELECT r.id FROM unnest(%s::bigint[]) w CROSS JOIN LATERAL (
        SELECT id, created_at FROM agents_run
        WHERE workspace_id = w AND parent_id IS NULL ORDER BY created_at DESC LIMIT %s
    ) r ORDER BY r.created_at DESC LIMIT %s
"""


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


@dataclass(slots=True)
class TopAgent:
    """An agent among those with the most runs, or with the highest cost.

    Attributes:
        unpriced: Those of its model calls without a known price, which its cost leaves out.
    """

    name: str
    runs: int = 0
    failed: int = 0
    calls: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """Statistics of all days, and of the present moment.

    Attributes:
        days: The last ``DAYS``, today last.
        live: Live runs by status, sub-agents included.
        waiting: Tool calls that wait for a person.
        last: The newest runs that people started, the newest first.
    """

    days: list[Day]
    live: dict[str, int]
    waiting: int
    quarantined: int
    last: list[Run]
    most_runs: list[TopAgent]
    most_cost: list[TopAgent]


#: Counts, durations and usage of some days, as the three queries return them.
Rows = tuple[list[Any], list[Any], list[Any]]


def read(user: Any) -> Figures:
    """Read them: eight queries, and three more to count past days."""
    today = timezone.localdate()
    days = {day: Day(day) for day in (today - timedelta(days=n) for n in range(DAYS - 1, -1, -1))}
    mine = list(workspaces_of(user).values_list("pk", flat=True))
    *past, _ = days.values()
    agents: dict[str, TopAgent] = {}
    for counts, durations, used in (_past(past, mine), _rows([days[today]], mine)):
        _count_runs(counts, days, agents)
        for day, (median, slow) in durations:
            days[day].median, days[day].slow = timedelta(seconds=median), timedelta(seconds=slow)
        _add_usage(used, days, agents)
    visible = visible_to(Run.objects.order_by(), user)
    return Figures(
        days=list(days.values()),
        # By finished_at, for which there is an index of the few that are live.
        live=dict(
            visible.filter(finished_at__isnull=True, status__in=LIVE)
            .values_list("status")
            .annotate(Count("pk"))
        ),
        waiting=visible_to(waiting_calls(), user, path="run__workspace").count(),
        quarantined=visible.filter(status=RunStatus.QUARANTINED).count(),
        last=_last(None if user.is_active and user.is_superuser else mine),
        most_runs=sorted(
            (agent for agent in agents.values() if agent.runs),
            key=lambda agent: (-agent.runs, agent.name),
        )[:TOP],
        most_cost=sorted(
            (agent for agent in agents.values() if agent.calls),
            key=lambda agent: (-agent.cost, -agent.calls),
        )[:TOP],
    )


def _past(days: list[Day], mine: list[int]) -> Rows:
    whose = repr((timezone.get_current_timezone_name(), mine)).encode()
    key = f"heartbit-dashboard-rows-{days[-1].day}-{hashlib.sha256(whose).hexdigest()}"
    found: Rows | None = cache.get(key)
    if found is None:
        found = _rows(days, mine)
        cache.set(key, found, PAST_SECONDS)
    return found


def _rows(days: list[Day], mine: list[int]) -> Rows:
    values = {
        "mine": mine,
        "days": [day.day for day in days],
        "begins": [day.begins for day in days],
        "ends": [day.ends for day in days],
    }
    return fetch_all(_COUNTS, values), fetch_all(_DURATIONS, values), fetch_all(_USAGE, values)


def _count_runs(rows: list[Any], days: dict[date, Day], agents: dict[str, TopAgent]) -> None:
    for day, name, status, is_root, count in rows:
        agent = agents.setdefault(name, TopAgent(name))
        agent.runs += count
        if status in FAILED:
            agent.failed += count
        if is_root:
            of_day = days[day].runs
            of_day[status] = of_day.get(status, 0) + count


def _add_usage(rows: list[Any], days: dict[date, Day], agents: dict[str, TopAgent]) -> None:
    """Add up the usage of days, and of agents whose runs are still there."""
    for day, name, calls, unpriced, cost in rows:
        sums: list[Day | TopAgent] = [days[day]]
        if name is not None:
            sums.append(agents.setdefault(name, TopAgent(name)))
        for one in sums:
            one.calls += calls
            one.unpriced += unpriced
            one.cost += cost


def _last(mine: list[int] | None) -> list[Run]:
    started: QuerySet[Run] = Run.objects.filter(parent__isnull=True).select_related("workspace")
    started = started.defer("output", "error", "payload", "structured")
    if mine is None:  # ids are time-ordered, and the key is an index
        return list(started.order_by("-id")[:LAST_RUNS])
    newest = RawSQL(_LAST, (mine, LAST_RUNS, LAST_RUNS))  # noqa: S611  a constant
    return list(started.filter(pk__in=newest).order_by("-created_at"))
