"""Schedules stand in one line for the clocks' looks; none of them keeps those behind it waiting."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from agents.models import Run
from scheduling.actions import fire_due as firing
from scheduling.actions.fire_due import SECONDS, FailureBackoff, fire_due
from scheduling.actions.run_schedule import backfill_schedule
from scheduling.choices import CatchUp, FiringStatus, Kind, Overlap
from scheduling.models import Firing, Schedule
from scheduling.querysets import database_now, due_schedules
from tests.scheduling.conftest import ANN, let_pass

Plan = Callable[..., Schedule]
HOUR = timedelta(hours=1)
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def two_at_once(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    Schedule.objects.update(enabled=False)  # others' stand in no line, until the test's rollback
    monkeypatch.setattr(firing, "AT_ONCE", 2)
    monkeypatch.setattr(firing, "_aside", FailureBackoff())


def statuses(schedule: Schedule) -> list[str]:
    rows = Firing.objects.filter(schedule=schedule).order_by("scheduled_for")
    return list(rows.values_list("status", flat=True))


def busy(planned: Plan, count: int) -> list[Schedule]:
    """So many whose run is at work, each with a slot that waits for its end."""
    plans = [planned(name=f"Busy {n}", overlap=Overlap.QUEUE) for n in range(count)]
    for plan in plans:
        let_pass(plan, 2 * HOUR)
        Schedule.objects.filter(pk=plan.pk).update(catch_up=CatchUp.ALL)
        fire_due(only=plan.pk)
        assert statuses(plan) == ["started", "deferred"]
    return plans


def test_slots_held_behind_work_keep_no_others_waiting(planned: Plan) -> None:
    plans = busy(planned, 3)
    now = database_now()
    theirs = planned(name="Theirs", kind=Kind.CRON, cron="0 * * * *")
    backfill_schedule(theirs, now - 3 * HOUR, now, by=ANN)
    fire_due()
    assert statuses(theirs) == ["started", "deferred", "deferred"]
    everyone = {plan.pk for plan in [*plans, theirs]}
    assert not everyone & set(due_schedules(100)), "the runs of all of them are at work"
    Run.objects.filter(workspace=theirs.workspace).update(status="cancelled", finished_at=now)
    assert everyone <= set(due_schedules(100))


def test_slots_that_may_run_side_by_side_do_not_wait_for_work(planned: Plan) -> None:
    plan = planned(kind=Kind.CRON, cron="0 * * * *", overlap=Overlap.PARALLEL)
    now = database_now()
    backfill_schedule(plan, now - 3 * HOUR, now, by=ANN)
    fire_due()
    assert statuses(plan) == ["started", "started", "deferred"]
    fire_due()
    assert statuses(plan) == ["started"] * 3, "though the first ones are at work"


def test_more_slots_than_can_wait_are_skipped_and_say_so(
    planned: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(firing, "MOST_HELD", 2)
    plan = planned(overlap=Overlap.QUEUE, catch_up=CatchUp.ALL)
    let_pass(plan, 5 * HOUR)
    fire_due(only=plan.pk)
    assert statuses(plan) == ["started", "deferred", "deferred", "skipped", "skipped"]
    last = Firing.objects.filter(schedule=plan).order_by("-scheduled_for").first()
    assert last is not None
    assert "2 firings already wait for its end" in last.note


def test_schedules_that_cannot_be_fired_keep_no_others_waiting(planned: Plan) -> None:
    end = datetime(9999, 12, 31, 23, tzinfo=UTC)  # and its jitter leads beyond the last year
    for number in range(3):
        broken = planned(name=f"Broken {number}")
        let_pass(broken, 2 * HOUR)
        Schedule.objects.filter(pk=broken.pk).update(begins_at=end, jitter_seconds=2**31 - 1)
    sound = planned(name="Sound")
    let_pass(sound, HOUR)
    for _ in range(2):
        fire_due()
    assert statuses(sound) == [FiringStatus.STARTED]


def test_what_stood_aside_is_looked_at_again() -> None:
    now = 0.0
    aside = FailureBackoff(lambda: now)
    aside.put(7)
    now = 1.0
    aside.put(8)
    assert aside.ids() == [7, 8]
    now = SECONDS
    assert aside.ids() == [8]
    aside.put(8)
    now = SECONDS + 1
    assert aside.ids() == [8], "it failed again"


def test_what_was_held_first_comes_first(planned: Plan) -> None:
    early, late = planned(name="B, early"), planned(name="A, late")
    now = database_now()
    for plan, hours in ((late, 2), (early, 5)):
        Firing.objects.create(
            schedule=plan, scheduled_for=now - hours * HOUR, status=FiringStatus.DEFERRED
        )
    own = [pk for pk in due_schedules(100) if pk in (early.pk, late.pk)]
    assert own == [early.pk, late.pk]
