"""Recurrences as sentences: what people type, and what is shown to them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.errors import ScheduleError
from scheduling.sentences import read_sentence, write_sentence

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SENTENCES = {
    "every weekday at 8:00": "0 8 * * 1-5",
    "Weekdays at 8am": "0 8 * * 1-5",
    "every day at 17:30.": "30 17 * * *",
    "daily at noon": "0 12 * * *",
    "every weekend at 10": "0 10 * * 0,6",
    "every Monday, Wednesday and Friday at 9:15": "15 9 * * 1,3,5",
    "mondays at 9:00 and 17:00": "0 9,17 * * 1",
    "the 1st of the month at 7:30": "30 7 1 * *",
    "on the 1st and 15th of every month at 7:30 pm": "30 19 1,15 * *",
    "every month on the last day at 18:00": "0 18 L * *",
    "0 9 * * MON#1": "0 9 * * MON#1",
}


@pytest.mark.parametrize(("said", "cron"), SENTENCES.items())
def test_given_a_sentence_then_it_is_a_cron_expression(said: str, cron: str) -> None:
    assert read_sentence(said, BERLIN, NOW) == {"cron": cron}


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("every 15 minutes", 900), ("hourly", 3600), ("every hour", 3600), ("every 2 days", 172_800)],
)
def test_given_a_sentence_of_an_interval_then_it_is_in_seconds(said: str, seconds: int) -> None:
    assert read_sentence(said, BERLIN, NOW) == {"every_seconds": seconds}


@pytest.mark.parametrize(
    ("said", "at"),
    [
        ("on 2026-12-01 at 9:00", datetime(2026, 12, 1, 8, tzinfo=UTC)),
        ("tomorrow at 9:00", datetime(2026, 12, 1, 8, tzinfo=UTC)),
        ("in 3 days", datetime(2026, 12, 3, 12, tzinfo=UTC)),
    ],
)
def test_given_a_sentence_of_one_time_then_it_is_that_time(said: str, at: datetime) -> None:
    assert read_sentence(said, BERLIN, NOW) == {"at": at}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("now and then", "is no time that Heartbit knows"),
        ("every weekday", "names no time of day"),
        ("every day at 25:00", "is no time of day"),
        ("every day at 8:00 and 9:30", "the same minute"),
        ("on 2026-03-29 at 2:30", "the clocks skip it"),
        ("on 2026-02-30 at 9:00", "out of range"),
        ("", "is no time that Heartbit knows"),
    ],
)
def test_given_no_such_time_then_a_sentence_says_why(said: str, words: str) -> None:
    with pytest.raises(ScheduleError, match=words):
        read_sentence(said, BERLIN, NOW)


PARTS = st.lists(st.integers(0, 23), min_size=1, max_size=3, unique=True).map(sorted)


@given(
    st.integers(0, 59),
    PARTS,
    st.sampled_from(
        ["* * *", "* * 1-5", "* * 0,6", "* * 2", "1,15 * *", "L * *", "* 3 *", "*/2 * *"]
    ),
)
def test_given_a_cron_expression_then_its_sentence_is_read_as_the_same(
    minute: int, hours: list[int], days: str
) -> None:
    cron = f"{minute} {','.join(map(str, hours))} {days}"
    assert read_sentence(write_sentence({"cron": cron}, BERLIN), BERLIN, NOW) == {"cron": cron}


@given(st.integers(1, 10**7))
def test_given_an_interval_then_its_sentence_is_read_as_the_same(seconds: int) -> None:
    said = write_sentence({"every_seconds": seconds}, BERLIN)
    assert read_sentence(said, BERLIN, NOW) == {"every_seconds": seconds}
