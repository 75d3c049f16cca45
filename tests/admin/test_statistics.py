"""Whose runs and days the dashboard's figures are of."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from django.utils import timezone

from agents.admin import statistics
from agents.models import Run
from heartbit_site.base.ids import new_id
from heartbit_site.base.models import UsageEntry
from tests.admin import rows
from tests.conftest import new_workspace
from tests.web.people import member

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace

pytestmark = pytest.mark.django_db


def _spend(workspace: Workspace, run_id: UUID, cost: int, *, days: int) -> None:
    UsageEntry.objects.create(
        workspace=workspace,
        run_id=run_id,
        turn=9,
        model=rows.MODEL,
        input_tokens=1,
        output_tokens=1,
        cost_usd=Decimal(cost),
        at=timezone.now() - timedelta(days=days),
    )


def _begun(run: Run, *, days: int) -> Run:
    Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(days=days))
    return run


def test_usage_counts_on_its_day_for_the_agent_of_its_run(workspace: Workspace) -> None:
    of_today, recent, old = (rows.tree(workspace)[0] for _ in range(3))
    UsageEntry.objects.filter(workspace=workspace).delete()
    _begun(recent, days=3)
    _begun(old, days=40)
    for run, cost, days in ((of_today, 1, 0), (recent, 2, 3), (old, 4, 0), (old, 8, 2)):
        _spend(workspace, run.pk, cost, days=days)
    _spend(workspace, new_id(), 16, days=2)  # of a run that was deleted
    _spend(workspace, of_today.pk, 32, days=statistics.DAYS)  # of a day that is not shown
    found = statistics.read(member(workspace))
    assert {day.day: day.cost for day in found.days if day.cost} == {
        found.days[-1].day: Decimal(5),
        found.days[-3].day: Decimal(24),
        found.days[-4].day: Decimal(2),
    }
    assert [(agent.name, agent.cost) for agent in found.most_cost] == [
        (of_today.agent, Decimal(15))
    ]


def test_each_run_counts_on_its_day_until_midnight(workspace: Workspace) -> None:
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    before, after, first, too_old = (rows.tree(workspace)[0] for _ in range(4))
    begins = midnight - timedelta(days=statistics.DAYS - 1)
    instant = timedelta(microseconds=1)
    for run, moment in (
        *((before, midnight - instant), (after, midnight)),
        *((first, begins), (too_old, begins - instant)),
    ):
        Run.objects.filter(pk=run.pk).update(
            created_at=moment, started_at=moment, finished_at=moment + timedelta(seconds=7)
        )
    found = statistics.read(member(workspace))
    assert [day.total for day in found.days] == [1, *[0] * (statistics.DAYS - 3), 1, 1]
    assert [day.median for day in found.days if day.median] == [timedelta(seconds=7)] * 3


def test_a_member_sees_no_figure_of_another_workspace(workspace: Workspace) -> None:
    rows.tree(workspace)
    found = statistics.read(member(new_workspace()))
    assert not any(day.total or day.calls or day.median for day in found.days)
    assert not found.most_runs
    assert not found.most_cost
    assert not found.live
    assert not found.last
