"""What a change of a schedule does to slots that have come and that nobody has looked at yet."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from scheduling.actions.fire_due import fire_due
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import CatchUp, FiringStatus, Overlap
from scheduling.models import Firing, Schedule
from scheduling.querysets import database_now
from tests.scheduling.conftest import ANN, let_pass

Plan = Callable[..., Schedule]
HOUR = timedelta(hours=1)
pytestmark = pytest.mark.django_db


@pytest.fixture
def overdue(planned: Plan) -> Schedule:
    """Three of its slots came while no worker was there."""
    plan = planned(catch_up=CatchUp.ALL, overlap=Overlap.PARALLEL)
    let_pass(plan, 3 * HOUR)
    plan.refresh_from_db()
    return plan


def log(schedule: Schedule) -> list[tuple[str, str]]:
    rows = Firing.objects.filter(schedule=schedule).order_by("scheduled_for")
    return list(rows.values_list("status", "note"))


def is_to_come(schedule: Schedule) -> bool:
    schedule.refresh_from_db()
    return schedule.next_occurrence is not None and schedule.next_occurrence > database_now()


@pytest.mark.parametrize("hours", [1, 1000])
def test_another_end_lets_none_of_them_pass(overdue: Schedule, hours: int) -> None:
    overdue.ends_at = database_now() + hours * HOUR
    save_schedule(overdue, by=ANN)
    assert fire_due(only=overdue.pk) == 3
    assert log(overdue) == [(FiringStatus.STARTED, "")] * 3


def test_another_rhythm_has_other_slots_and_says_so(overdue: Schedule) -> None:
    first = overdue.next_occurrence
    overdue.every_seconds = 1800
    save_schedule(overdue, by=ANN)
    why = "The schedule's recurrence was changed before this firing was processed."
    assert log(overdue) == [(FiringStatus.SKIPPED, why)] * 3
    assert first is not None
    slots = (
        Firing.objects.filter(schedule=overdue)
        .order_by("scheduled_for")
        .values_list("scheduled_for", flat=True)
    )
    assert list(slots) == [first + number * HOUR for number in range(3)]
    assert is_to_come(overdue)


def test_pausing_says_so_too(overdue: Schedule) -> None:
    overdue.enabled = False
    save_schedule(overdue, by=ANN)
    why = "The schedule was paused before this firing was processed."
    assert log(overdue) == [(FiringStatus.SKIPPED, why)] * 3
    overdue.enabled = True
    save_schedule(overdue, by=ANN)
    assert len(log(overdue)) == 3, "and slots of a pause are none"
    assert is_to_come(overdue)


def test_what_had_ended_counts_from_now_when_it_is_prolonged(planned: Plan) -> None:
    plan = planned(ends_at=database_now() + 1.5 * HOUR, catch_up=CatchUp.ALL)
    let_pass(plan, 5 * HOUR)
    plan.refresh_from_db()
    plan.ends_at = database_now() + 24 * HOUR
    save_schedule(plan, by=ANN)
    assert [status for status, _ in log(plan)] == [FiringStatus.SKIPPED]
    assert is_to_come(plan)


def test_what_is_ended_lets_the_rest_pass(overdue: Schedule) -> None:
    overdue.ends_at = overdue.next_occurrence
    save_schedule(overdue, by=ANN)
    assert [status for status, _ in log(overdue)] == [FiringStatus.SKIPPED] * 3
    overdue.refresh_from_db()
    assert overdue.next_occurrence is None


def test_a_slot_that_its_jitter_keeps_waiting_is_noted(planned: Plan) -> None:
    plan = planned(jitter_seconds=3600)
    let_pass(plan, HOUR)
    plan.refresh_from_db()
    plan.every_seconds = 1800
    save_schedule(plan, by=ANN)
    assert [status for status, _ in log(plan)] == [FiringStatus.SKIPPED]


def test_a_rhythm_that_cannot_be_read_can_be_changed(overdue: Schedule) -> None:
    Schedule.objects.filter(pk=overdue.pk).update(time_zone="Mars/Olympus")
    save_schedule(overdue, by=ANN)
    assert log(overdue) == []
    assert is_to_come(overdue)
