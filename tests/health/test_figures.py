"""Figures of a workspace: right, grouped, and cheap."""

from __future__ import annotations

import math
import os
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.db.models import Sum
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.housekeeping.roll_up import roll_up
from agents.models import Agent, Run, SpanFigures
from agents.reads.agent_traffic import traffic_of_agents
from agents.reads.durations import percentile
from agents.reads.figures import HOUR, floor, rolled_until
from agents.reads.health import SPANS, read_health
from agents.reads.usage import usage_of
from heartbit_site.base.query import fetch_one
from tests.health.filled import fill
from tests.starts import start_run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

#: Seconds of a processor for a span of 100,000 runs in 30 days, with room for a busy one.
SECONDS = {"1h": 0.05, "24h": 0.1, "7d": 0.25, "30d": 0.5}
ROUNDS = 4


def filled(workspace: Workspace, count: int) -> None:
    version = Agent.objects.get(workspace=workspace, name="writer").current_version
    assert version is not None
    fill(workspace, version, count)


@pytest.mark.django_db
def test_given_runs_then_their_figures_errors_and_costs_are_added_up(workspace: Workspace) -> None:
    filled(workspace, 2_000)
    check(workspace)


@pytest.mark.django_db
def test_given_hours_that_are_over_then_their_rows_say_the_same_as_the_runs(
    workspace: Workspace,
) -> None:
    filled(workspace, 2_000)
    traffic = traffic_of_agents(workspace)
    usage = usage_of(workspace)
    written = roll_up(timezone.now())
    assert 0 < SpanFigures.objects.filter(workspace=workspace).count() <= written
    assert roll_up(timezone.now()) == 0
    quarter = read_health(workspace.pk, timedelta(minutes=15), timezone.now())
    assert (quarter.figures["runs"] or 0) < 3  # alerts have short windows, which no hour widens
    last = rolled_until()
    assert timezone.now() - timedelta(hours=1) < last <= timezone.now()
    check(workspace)
    assert traffic_of_agents(workspace) == traffic
    assert usage_of(workspace) == usage
    Run.objects.filter(workspace=workspace, created_at__lt=last - timedelta(days=1)).delete()
    assert usage_of(workspace) == usage  # as the ledger, the figures outlive the runs


@pytest.mark.django_db
def test_given_rows_of_five_minutes_then_they_are_added_up_to_hours_and_days(
    workspace: Workspace,
) -> None:
    version = Agent.objects.get(workspace=workspace, name="writer").current_version
    assert version is not None
    fill(workspace, version, 2_000, days=0.08)
    rows, now = SpanFigures.objects.filter(workspace=workspace), timezone.now()
    names = ("runs", "ended", "failed", "seconds", "calls", "tokens", "cost_usd")

    def rolled(moment: datetime) -> tuple[set[int], dict[str, Any], Counter[str], datetime]:
        roll_up(moment)
        lasted: Counter[str] = Counter()
        for row in rows.all():
            lasted.update(row.lasted)
        lengths = set(rows.values_list("minutes", flat=True))
        return lengths, rows.aggregate(*map(Sum, names)), lasted, rolled_until()

    # What ends last is over, too: no run ends more than 61 s from now.
    lengths, *summed, _ = rolled(now + timedelta(minutes=10))
    assert lengths == {5}
    assert (summed[0]["runs__sum"], summed[0]["ended__sum"]) == (2_000, 2_000)
    assert sum(summed[1].values()) == 2_000
    for later, minutes in ((timedelta(hours=5), 60), (timedelta(days=34), 1_440)):
        lengths, *added, until = rolled(now + later)
        assert lengths == {minutes}
        assert added[0] == pytest.approx(summed[0])
        assert added[1] == summed[1]
        assert until >= now
        assert rows.count() <= 2 * 24 * 2


@pytest.mark.django_db
@pytest.mark.parametrize("hours", [3, 50])
def test_given_a_roll_up_that_was_down_and_is_stopped_then_each_run_counts_once(
    workspace: Workspace, hours: int
) -> None:
    version = Agent.objects.get(workspace=workspace, name="writer").current_version
    assert version is not None
    fill(workspace, version, 2_000, days=3)
    later = timezone.now() + timedelta(minutes=10)
    roll_up(floor(later, HOUR) - hours * HOUR + timedelta(minutes=37))  # not to a full hour
    for transactions in (0, 1, 1, 9):
        roll_up(later, goes_on=iter([True] * transactions + [False]).__next__)
        assert read_health(workspace.pk, SPANS["30d"], later).figures["runs"] == 2_000
    assert rolled_until() > later - timedelta(minutes=15)
    rows = SpanFigures.objects.filter(workspace=workspace)
    assert rows.aggregate(Sum("runs"), Sum("calls")) == {"runs__sum": 2_000, "calls__sum": 2_000}


def check(workspace: Workspace) -> None:
    """The figures of ``fill``, whichever tables they are read from."""
    with CaptureQueriesContext(connection) as queries:
        found = read_health(workspace.pk, SPANS["30d"], timezone.now())
    assert len(queries) == 3
    assert found.figures["runs"] == 2_000
    assert found.figures["failures"] == 100
    assert found.figures["failure_rate"] == 5
    assert found.figures["cost"] == pytest.approx(2)
    assert 0.4 < (found.figures["queue_delay_p50"] or 0) < 0.6
    [error] = found.errors
    assert error.sentence == "The provider answered … after … s for …"
    assert (error.runs, len(error.latest)) == (100, 3)
    assert error.first is not None
    assert error.last is not None
    assert error.first < error.last
    assert len(found.pairs) == 24
    assert sum(one.runs for one in found.pairs) == sum(one.calls for one in found.pairs) == 2_000
    pair = found.pairs[0]
    assert 1 <= (pair.median or 0) <= (pair.slow or 0) <= 63  # seconds, of which each is 5 % off
    hour = read_health(workspace.pk, SPANS["1h"], timezone.now())
    assert 0 < (hour.figures["runs"] or 0) < 9


@pytest.mark.django_db
def test_given_a_run_that_waits_for_a_worker_then_its_delay_grows(workspace: Workspace) -> None:
    run = start_run(workspace, "x", agent="writer")
    Run.objects.filter(pk=run).update(created_at=timezone.now() - timedelta(minutes=10))
    found = read_health(workspace.pk, SPANS["1h"], timezone.now())
    assert (found.figures["queue_delay_p95"] or 0) == pytest.approx(600, rel=0.06)
    assert found.figures["failure_rate"] is None


@pytest.mark.django_db
def test_given_a_run_that_waits_since_before_the_last_full_hour_then_it_is_in_the_delays(
    workspace: Workspace,
) -> None:
    runs = [start_run(workspace, "x", agent="writer") for _ in range(3)]
    now = timezone.now()
    for hours, run in zip((5, 5, 2), runs, strict=True):
        Run.objects.filter(pk=run).update(created_at=now - timedelta(hours=hours))
    roll_up(now)
    assert rolled_until() > now - timedelta(hours=2)
    found = read_health(workspace.pk, SPANS["24h"], now)
    assert (found.figures["queue_delay_p95"] or 0) == pytest.approx(5 * 3_600, rel=0.06)


@pytest.mark.django_db
def test_given_a_run_that_may_not_begin_yet_then_it_has_no_delay(workspace: Workspace) -> None:
    run, now = start_run(workspace, "x", agent="writer"), timezone.now()
    Run.objects.filter(pk=run).update(available_at=now + timedelta(hours=1))
    assert read_health(workspace.pk, SPANS["1h"], now).figures["queue_delay_p95"] is None


def test_percentiles_of_counted_durations_are_five_percent_off_at_most() -> None:
    seconds = [0.002 * 1.01**number for number in range(2_000)]
    counted: Counter[str] = Counter()
    for one in seconds:
        counted[str(math.ceil(math.log(max(one, 0.001)) / math.log(1.05 / 0.95)))] += 1
    for share in (0.0, 0.5, 0.95, 1.0):
        exact = seconds[int(share * (len(seconds) - 1))]
        assert percentile(counted, share) == pytest.approx(exact, rel=0.0501)
    assert percentile({}, 0.5) is None


@pytest.mark.django_db
def test_given_no_runs_then_there_is_nothing_to_measure(workspace: Workspace) -> None:
    found = read_health(workspace.pk, SPANS["24h"], timezone.now())
    assert (found.errors, found.pairs) == ([], [])
    assert found.figures["queue_delay_p95"] is None
    assert found.figures["failure_rate"] is None
    assert found.figures["runs"] == 0


@pytest.mark.django_db
def test_given_a_hundred_thousand_runs_then_little_time_of_the_database_is_taken(
    workspace: Workspace,
) -> None:
    filled(workspace, 100_000)
    roll_up(timezone.now())
    slow = {}
    for span, limit in SECONDS.items():
        begun = worked()
        for _ in range(ROUNDS):
            read_health(workspace.pk, SPANS[span], timezone.now())
        if (seconds := (worked() - begun) / ROUNDS) >= limit:
            slow[span] = seconds
    assert slow == {}
    assert SECONDS.keys() == SPANS.keys()


def worked() -> float:
    """Seconds that the test's database process has worked: other tests do not lengthen them."""
    (process,) = fetch_one("SELECT pg_backend_pid()")
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
