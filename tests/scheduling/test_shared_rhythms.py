"""Beat's rows of a rhythm are shared by all workspaces, and two of one rhythm do no harm."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from secrets import token_hex

import pytest
from django.db import connection
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule

from agents.actions.write_agents import create_default_team
from agents.models import Agent
from heartbit_site.base.models import Workspace
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import Kind
from scheduling.models import Schedule
from scheduling.querysets import database_now
from tests.scheduling.conftest import ANN

Plan = Callable[..., Schedule]
UNUSUAL = 777_000  # seconds; no other test's


def another_agent() -> Agent:
    """One of a workspace of its own."""
    slug = f"other-{token_hex(4)}"
    workspace = Workspace.objects.create(slug=slug, name=slug)
    create_default_team(workspace)
    agent = Agent.objects.filter(workspace=workspace).first()
    assert agent is not None
    return agent


def test_two_workspaces_that_save_a_new_rhythm_at_once_lock_nobody_out(planned: Plan) -> None:
    agents = [planned().agent, another_agent()]
    barrier = threading.Barrier(len(agents))
    rounds = range(UNUSUAL, UNUSUAL + 8)

    def save(agent: Agent) -> None:
        for seconds in rounds:
            row = rhythmic(agent, seconds)
            barrier.wait(timeout=30)
            save_schedule(row, by=ANN)
        connection.close()

    threads = [threading.Thread(target=save, args=[agent]) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    late = another_agent()
    for seconds in rounds:
        save_schedule(rhythmic(late, seconds), by=ANN)
    assert Schedule.objects.filter(every_seconds__in=rounds).count() == 3 * len(rounds)


def rhythmic(agent: Agent, seconds: int) -> Schedule:
    return Schedule(
        workspace_id=agent.workspace_id,
        agent=agent,
        name=f"Each {seconds}",
        task="Report.",
        kind=Kind.INTERVAL,
        every_seconds=seconds,
    )


@pytest.mark.django_db
def test_rows_that_are_there_twice_are_used_as_one(planned: Plan) -> None:
    at = (database_now() + timedelta(days=3)).replace(microsecond=0)
    cron = {"minute": "7", "hour": "3", "timezone": "Europe/Berlin"}
    for _ in range(2):
        IntervalSchedule.objects.create(every=UNUSUAL - 1, period=IntervalSchedule.SECONDS)
        ClockedSchedule.objects.create(clocked_time=at)
        CrontabSchedule.objects.create(**cron, day_of_month="*", month_of_year="*", day_of_week="*")
    planned(name="interval", kind=Kind.INTERVAL, every_seconds=UNUSUAL - 1)
    planned(name="once", kind=Kind.ONCE, at=at)
    planned(name="cron", kind=Kind.CRON, cron="7 3 * * *", time_zone="Europe/Berlin")
    assert IntervalSchedule.objects.filter(every=UNUSUAL - 1).count() == 2
    assert ClockedSchedule.objects.filter(clocked_time=at).count() == 2
    assert CrontabSchedule.objects.filter(**cron).count() == 2
