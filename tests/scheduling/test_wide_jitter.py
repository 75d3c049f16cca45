"""Jitter that is longer than the time between two slots: each slot fires once, in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scheduling.choices import CatchUp, Kind
from scheduling.models import Schedule
from scheduling.occurrences import due, fires_at

HOUR = timedelta(hours=1)
BEGIN = datetime(2026, 11, 22, 9, tzinfo=UTC)
TEN_MINUTES = timedelta(minutes=10)


@pytest.mark.parametrize("missed", CatchUp.values)
def test_given_a_clock_that_looks_all_the_time_then_nothing_is_missed(missed: str) -> None:
    schedule = Schedule(
        pk=4711,
        kind=Kind.INTERVAL,
        every_seconds=600,
        begins_at=BEGIN,
        jitter_seconds=3600,
        catch_up=missed,
        next_occurrence=BEGIN,
    )
    times = [fires_at(schedule, BEGIN + number * TEN_MINUTES) for number in range(36)]
    assert times != sorted(times), "the jitter is wide enough to change their order"
    fired: list[datetime] = []
    for minute in range(6 * 60):
        found = due(schedule, BEGIN + timedelta(minutes=minute))
        assert found.skip == (), "it looked all the time"
        fired += found.fire
        schedule.next_occurrence = found.next_occurrence
    assert fired == [BEGIN + number * TEN_MINUTES for number in range(len(fired))]
    assert len(fired) > 30


@pytest.mark.parametrize("seconds", [10, 30, 60])
@pytest.mark.parametrize("away", [timedelta(0), timedelta(minutes=9)])
def test_given_more_slots_within_the_jitter_than_are_made_up_for_then_none_is_lost(
    seconds: int, away: timedelta
) -> None:
    schedule = Schedule(
        pk=4711,
        kind=Kind.INTERVAL,
        every_seconds=seconds,
        begins_at=BEGIN,
        jitter_seconds=3600,
        catch_up=CatchUp.ALL,
        next_occurrence=BEGIN,
    )
    fired: list[datetime] = []
    skipped: list[datetime] = []
    for second in range(0, 3 * 3600, 5):
        now = BEGIN + timedelta(seconds=second)
        if not timedelta(0) <= now - BEGIN - HOUR < away:  # for when nobody looks
            found = due(schedule, now)
            fired += found.fire
            skipped += found.skip
            schedule.next_occurrence = found.next_occurrence
    come = [BEGIN + timedelta(seconds=n * seconds) for n in range(2 * 3600 // seconds)]
    assert sorted([*fired, *skipped])[: len(come)] == come, "each once, and none without a word"
    assert fired == sorted(fired)
    assert away or not skipped, "it looked all the time"
