"""The one way to show a moment: the reader's zone, or a named one."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils import timezone

from heartbit_site.shell.moment import day, moment, short, whole

BERLIN = ZoneInfo("Europe/Berlin")


def test_today_is_a_time_and_other_days_have_their_day_and_year() -> None:
    now = datetime.now(UTC)
    noon = now.replace(hour=12, minute=5)
    assert short(noon, ZoneInfo("UTC")) == "12:05"
    other = datetime(now.year, 3, 4, 9, 7, tzinfo=UTC)
    if other.date() != now.date():
        assert short(other, ZoneInfo("UTC")) == "4 Mar 09:07"
    assert short(datetime(2021, 3, 4, 9, 7, tzinfo=UTC), BERLIN) == "4 Mar 2021, 10:07"


def test_a_moment_names_its_zone_when_hovered_and_another_zone_beside_it() -> None:
    at = datetime(2021, 7, 1, 10, 0, tzinfo=UTC)
    with timezone.override(BERLIN):
        own = moment(at)
    assert 'title="Thu, 1 Jul 2021, 12:00:00 CEST (Europe/Berlin)"' in own
    assert ">1 Jul 2021, 12:00</time>" in own
    assert ">1 Jul 2021, 19:00 Asia/Tokyo</time>" in moment(at, zone="Asia/Tokyo")
    assert moment(None, missing="never") == "never"


def test_utc_is_named_once() -> None:
    assert whole(datetime.now(UTC) - timedelta(days=9), ZoneInfo("UTC")).endswith(" UTC")


def test_a_zone_beside_is_left_out_where_its_clocks_show_the_same() -> None:
    at = datetime(2021, 7, 1, 10, 0, tzinfo=UTC)
    with timezone.override(BERLIN):
        assert moment(at, beside="Europe/Paris") == moment(at)
        both = moment(at, beside="Asia/Tokyo")
    assert both.startswith("<time")
    assert ">1 Jul 2021, 12:00</time>" in both
    assert ">1 Jul 2021, 19:00 Asia/Tokyo</time>" in both


def test_a_day_is_an_element() -> None:
    assert day(date(2026, 11, 3)) == '<time datetime="2026-11-03">3 Nov</time>'
