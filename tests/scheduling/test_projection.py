"""What Celery Beat knows of schedules."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest
from django_celery_beat.models import PeriodicTask

from heartbit_site.base import queues
from scheduling.actions.save_schedule import save_schedule
from scheduling.actions.schedules import remove_schedule
from scheduling.choices import Kind
from scheduling.models import Schedule
from scheduling.querysets import database_now
from tests.scheduling.conftest import ANN

Plan = Callable[..., Schedule]
pytestmark = pytest.mark.django_db


def task_of(schedule: Schedule) -> PeriodicTask | None:
    return PeriodicTask.objects.filter(args=json.dumps([schedule.pk])).first()


def test_a_cron_expression_rings_in_its_zone(planned: Plan) -> None:
    plan = planned(kind=Kind.CRON, cron="30 8 * * MON-FRI", time_zone="America/New_York")
    task = task_of(plan)
    assert task is not None
    assert plan.periodic_task == task
    assert (task.task, task.queue, task.enabled) == (queues.FIRE_SCHEDULE, queues.SYSTEM, True)
    crontab = task.crontab
    assert (crontab.minute, crontab.hour, crontab.day_of_week) == ("30", "8", "mon-fri")
    assert str(crontab.timezone) == "America/New_York"


def test_it_follows_the_schedule(planned: Plan) -> None:
    plan = planned(every_seconds=900, kind=Kind.INTERVAL)
    task = task_of(plan)
    assert task is not None
    assert (task.interval.every, task.interval.period) == (900, "seconds")
    plan.kind, plan.at = Kind.ONCE, database_now() + timedelta(days=3)
    save_schedule(plan, by=ANN)
    task = task_of(plan)
    assert task is not None
    assert (task.interval, task.one_off, task.clocked.clocked_time) == (None, True, plan.at)
    plan.enabled = False
    save_schedule(plan, by=ANN)
    assert task_of(plan) is None
    plan.enabled = True
    save_schedule(plan, by=ANN)
    assert task_of(plan) is not None
    name = f"heartbit-schedule-{plan.pk}"
    assert PeriodicTask.objects.filter(name=name).exists()
    remove_schedule(plan, by=ANN)
    assert not PeriodicTask.objects.filter(name=name).exists()


def test_it_ends_with_the_schedule(planned: Plan) -> None:
    plan = planned(ends_at=database_now() + timedelta(days=3))
    task = task_of(plan)
    assert task is not None
    assert task.expires == plan.ends_at


@pytest.mark.parametrize("cron", ["0 9 L * *", "0 9 * * MON#1", "0 9 * * 5L", "0 9 LW * *"])
def test_what_beat_has_no_words_for_is_the_clocks_alone(planned: Plan, cron: str) -> None:
    plan = planned(kind=Kind.CRON, cron=cron)
    assert plan.next_occurrence is not None
    assert task_of(plan) is None


def test_sunday_has_two_numbers(planned: Plan) -> None:
    plan = planned(kind=Kind.CRON, cron="0 9 * * 7")
    task = task_of(plan)
    assert task is not None
    assert task.crontab.day_of_week == "0"
