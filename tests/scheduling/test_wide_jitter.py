"""Jitter that is longer than the time between two slots: each slot fires once, in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scheduling.choices import Kind, Missed
from scheduling.models import Schedule
from scheduling.slots import due, fires_at

BEGIN = datetime(2026, 11, 22, 9, tzinfo=UTC)
TEN_MINUTES = timedelta(minutes=10)


@pytest.mark.parametrize("missed", Missed.values)
def test_given_a_clock_that_looks_all_the_time_then_nothing_is_missed(missed: str) -> None:
    schedule = Schedule(
        pk=4711,
        kind=Kind.INTERVAL,
        every_seconds=600,
        begins_at=BEGIN,
        jitter_seconds=3600,
        missed=missed,
        next_slot=BEGIN,
    )
    times = [fires_at(schedule, BEGIN + number * TEN_MINUTES) for number in range(36)]
    assert times != sorted(times), "the jitter is wide enough to change their order"
    fired: list[datetime] = []
    for minute in range(6 * 60):
        found = due(schedule, BEGIN + timedelta(minutes=minute))
        assert found.skip == (), "it looked all the time"
        fired += found.fire
        schedule.next_slot = found.next_slot
    assert fired == [BEGIN + number * TEN_MINUTES for number in range(len(fired))]
    assert len(fired) > 30
