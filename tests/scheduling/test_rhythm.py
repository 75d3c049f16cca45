"""When schedules are due, above all when clocks change (R11)."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest

from scheduling.choices import CatchUp, Kind
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.occurrences import (
    MOST,
    build_recurrence,
    due,
    fires_at,
    slots_between,
    upcoming_occurrences,
)
from scheduling.recurrence import Cron, Interval, Once, time_zone
from tests.scheduling.conftest import utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")  # its clocks leap by half an hour
ZONES = (BERLIN, NEW_YORK, LORD_HOWE)
BEGIN, END = utc("2026-01-01 12:00"), utc("2036-01-01 12:00")
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)

# The rule as the docs have it, written once more: day by day, without cronsim.
AT_A_TIME: dict[str, tuple[time, Callable[[date], bool]]] = {
    "30 2 * * *": (time(2, 30), lambda _: True),
    "0 3 * * *": (time(3, 0), lambda _: True),
    "15 1 31 * *": (time(1, 15), lambda day: day.day == 31),
    "0 12 29 2 *": (time(12, 0), lambda day: (day.month, day.day) == (2, 29)),
    "0 9 * * MON": (time(9, 0), lambda day: day.weekday() == 0),
    "45 1 * * SUN": (time(1, 45), lambda day: day.weekday() == 6),
}


def at_a_time(zone: ZoneInfo, at: time, on: Callable[[date], bool]) -> Iterator[datetime]:
    """Once each day: what is leapt over comes after the leap, what comes twice counts once."""
    day = BEGIN.date() - DAY
    while day <= END.date() + DAY:
        if on(day):
            wall = datetime.combine(day, at)
            while not exists(wall, zone):
                wall += MINUTE
            moment = wall.replace(tzinfo=zone).astimezone(UTC)
            if BEGIN < moment <= END:
                yield moment
        day += DAY


def exists(wall: datetime, zone: ZoneInfo) -> bool:
    there = wall.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
    return there.replace(tzinfo=None) == wall


@pytest.mark.parametrize("zone", ZONES, ids=str)
@pytest.mark.parametrize("expression", AT_A_TIME)
def test_ten_years_of_a_time_of_day(expression: str, zone: ZoneInfo) -> None:
    expected = list(at_a_time(zone, *AT_A_TIME[expression]))
    assert len(expected) >= 2
    cron = Cron(expression, zone)
    found = list(itertools.takewhile(lambda slot: slot <= END, cron.after(BEGIN)))
    assert found == expected
    back = list(itertools.takewhile(lambda slot: slot > BEGIN, cron.before(END)))
    assert back == expected[::-1]


ELAPSED: dict[str, Callable[[datetime], bool]] = {
    "0 * * * *": lambda there: there.minute == 0,
    "0 */4 * * *": lambda there: there.minute == 0 and there.hour % 4 == 0,
    "*/15 */2 * * *": lambda there: there.minute % 15 == 0 and there.hour % 2 == 0,
    "*/15 2 * * *": lambda there: there.minute % 15 == 0 and there.hour == 2,
}


@pytest.mark.parametrize(
    # Half an hour; an offset of 45 minutes; two hours; at midnight; a day was left out.
    ("zone", "begin", "years"),
    [
        (BERLIN, BEGIN, 2),
        (LORD_HOWE, BEGIN, 2),
        (ZoneInfo("Pacific/Chatham"), BEGIN, 2),
        (ZoneInfo("Antarctica/Troll"), BEGIN, 2),
        (ZoneInfo("America/Havana"), BEGIN, 2),
        (ZoneInfo("Pacific/Apia"), utc("2011-06-01 00:00"), 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("expression", ELAPSED)
def test_what_begins_with_a_star_follows_the_time_that_passes(
    expression: str, zone: ZoneInfo, begin: datetime, years: int
) -> None:
    quarter, end = timedelta(minutes=15), begin + years * 365 * DAY
    passing = (begin + quarter * number for number in range(1, (end - begin) // quarter + 1))
    expected = [one for one in passing if ELAPSED[expression](one.astimezone(zone))]
    cron = Cron(expression, zone)
    assert list(itertools.takewhile(lambda one: one <= end, cron.after(begin))) == expected
    back = list(itertools.takewhile(lambda one: one > begin, cron.before(end)))
    assert back == expected[::-1]


@pytest.mark.parametrize(
    ("zone", "begin"),
    [(BERLIN, "2026-10-24 20:00"), (NEW_YORK, "2026-10-31 20:00"), (LORD_HOWE, "2026-04-04 00:00")],
    ids=str,
)
def test_from_within_the_hour_that_comes_twice(zone: ZoneInfo, begin: str) -> None:
    """A look at any minute finds the slots that the whole night has, none earlier or twice."""
    start = utc(begin)
    for expression in ("30 1 * * *", "45 2 * * *", "10 2 * * *", "*/20 * * * *"):
        cron = Cron(expression, zone)
        night = list(itertools.takewhile(lambda one: one <= start + 2 * DAY, cron.after(start)))
        for minute in range(0, 24 * 60, 5):
            now = start + minute * MINUTE
            assert next(cron.after(now)) == next(slot for slot in night if slot > now)
            earlier = [slot for slot in night if slot <= now]
            if earlier:
                assert next(cron.before(now)) == earlier[-1]


def test_an_interval_counts_seconds_that_pass() -> None:
    rhythm = Interval(90, utc("2026-10-25 00:00"))
    assert list(itertools.islice(rhythm.after(utc("2026-10-25 00:01:30")), 2)) == [
        utc("2026-10-25 00:03"),
        utc("2026-10-25 00:04:30"),
    ]
    assert next(rhythm.after(utc("2026-10-01 00:00"))) == utc("2026-10-25 00:00"), "none before"
    assert list(rhythm.before(utc("2026-10-25 00:02"))) == [
        utc("2026-10-25 00:01:30"),
        utc("2026-10-25 00:00"),
    ]


def schedule(**fields: object) -> Schedule:
    """A row that is not saved."""
    usual = {"pk": 7, "kind": Kind.CRON, "cron": "0 9 * * *", "begins_at": utc("2026-01-01 00:00")}
    return Schedule(**usual | fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cron": "0 9 * * MON", "time_zone": "Europe/Berlin"}, "09:00"),
        ({"kind": Kind.INTERVAL, "every_seconds": 900}, "Every 15 minutes"),
        ({"kind": Kind.INTERVAL, "every_seconds": 3600}, "Every hour"),
        ({"kind": Kind.ONCE, "at": utc("2026-12-01 08:00")}, "Once, Tue 1 Dec 2026, 08:00 (UTC)"),
    ],
)
def test_it_is_said_in_words(fields: dict[str, object], words: str) -> None:
    assert words in build_recurrence(schedule(**fields)).words


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"cron": "0 9 * *"}, "has 4 fields"),
        ({"cron": "0 0 9 * * *"}, "has 6 fields"),
        ({"cron": "61 9 * * *"}, "bad minute"),
        ({"cron": "0 9 31 2 *"}, "bad day-of-month"),
        ({"cron": "@daily"}, "has 1 fields"),
        ({"time_zone": "Europe/Paradise"}, "no time zone"),
        ({"time_zone": "../etc/passwd"}, "no time zone"),
        ({"time_zone": ""}, "no time zone"),
        ({"kind": Kind.INTERVAL, "every_seconds": 5}, "at least 10"),
        ({"kind": Kind.ONCE}, "needs its time"),
    ],
)
def test_what_is_no_rhythm_is_refused_in_a_sentence(
    fields: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ScheduleError, match=sentence):
        build_recurrence(schedule(**fields))


def at_nine(day: int) -> datetime:
    return utc(f"2026-03-{day:02} 09:00")


def test_a_slot_on_time_fires_whatever_the_policy() -> None:
    for policy in CatchUp:
        row = schedule(next_occurrence=at_nine(3), catch_up=policy)
        found = due(row, at_nine(3) + timedelta(seconds=30))
        assert (found.fire, found.skip, found.next_occurrence) == ((at_nine(3),), (), at_nine(4))


@pytest.mark.parametrize(
    ("policy", "fire", "skip"),
    [
        (CatchUp.NONE, [], [3, 4, 5]),
        (CatchUp.LATEST, [5], [3, 4]),
        (CatchUp.ALL, [3, 4, 5], []),
    ],
)
def test_missed_slots_follow_the_policy(policy: CatchUp, fire: list[int], skip: list[int]) -> None:
    found = due(
        schedule(next_occurrence=at_nine(3), catch_up=policy), at_nine(5) + timedelta(hours=2)
    )
    assert list(found.fire) == [at_nine(day) for day in fire]
    assert list(found.skip) == [at_nine(day) for day in skip]
    assert found.next_occurrence == at_nine(6)


def test_one_made_up_for_is_enough_when_the_next_is_there() -> None:
    found = due(schedule(next_occurrence=at_nine(3), catch_up=CatchUp.LATEST), at_nine(5) + MINUTE)
    assert (found.fire, found.skip) == ((at_nine(5),), (at_nine(3), at_nine(4)))


def test_after_a_year_only_the_latest_are_looked_at() -> None:
    row = schedule(cron="* * * * *", next_occurrence=utc("2026-01-02 00:00"), catch_up=CatchUp.ALL)
    found = due(row, utc("2027-01-02 00:00") + timedelta(seconds=30))
    on_time = [slot for slot in found.fire if slot >= utc("2027-01-01 23:56")]
    assert (len(found.fire), len(on_time)) == (MOST + 5, 5)
    assert found.fire[-1] == utc("2027-01-02 00:00")
    assert found.next_occurrence == utc("2027-01-02 00:01")


def test_nothing_is_due_before_its_begin_or_after_its_end() -> None:
    row = schedule(
        begins_at=at_nine(3), ends_at=at_nine(5), next_occurrence=at_nine(3), catch_up=CatchUp.ALL
    )
    found = due(row, at_nine(8))
    assert list(found.fire) == [at_nine(3), at_nine(4), at_nine(5)]
    assert found.next_occurrence is None
    assert upcoming_occurrences(row, utc("2026-01-01 00:00"), 9) == [
        at_nine(3),
        at_nine(4),
        at_nine(5),
    ]
    assert slots_between(row, at_nine(4), at_nine(8), 9) == [at_nine(4), at_nine(5)]


def test_jitter_is_the_same_each_time_and_within_its_limit() -> None:
    row = schedule(jitter_seconds=600)
    delays = [fires_at(row, at_nine(day)) - at_nine(day) for day in range(1, 29)]
    assert delays == [fires_at(row, at_nine(day)) - at_nine(day) for day in range(1, 29)]
    assert all(timedelta(0) <= delay < timedelta(seconds=600) for delay in delays)
    assert len(set(delays)) > 20
    slot, delay = at_nine(3), delays[2]
    row.next_occurrence = slot
    assert due(row, slot + delay - timedelta(milliseconds=1)).fire == ()
    assert due(row, slot + delay - timedelta(milliseconds=1)).next_occurrence == slot
    assert due(row, slot + delay).fire == (slot,)


def test_once_is_once() -> None:
    row = schedule(kind=Kind.ONCE, at=at_nine(3), next_occurrence=at_nine(3))
    found = due(row, at_nine(3) + MINUTE)
    assert (found.fire, found.next_occurrence) == ((at_nine(3),), None)
    assert isinstance(build_recurrence(row), Once)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "Europe",
        "tzdata.zi",
        "zone.tab",
        "posix/Europe/Berlin",
        "right/UTC",
        "../etc/x",
        "/etc/x",
        *("localtime", "Factory"),  # zones to Python, and of no place
    ],
)
def test_a_file_of_the_data_that_is_no_time_zone_is_none(name: str) -> None:
    with pytest.raises(ScheduleError, match="There is no time zone"):
        time_zone(name)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "US/Eastern", "Asia/Calcutta"])
def test_a_time_zone_may_have_an_older_name(name: str) -> None:
    assert time_zone(name).key == name
