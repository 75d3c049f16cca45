"""Points in time and spans as people type them, and as they read them. No Django.

Usage::

    span("1h30m", "--every")                          # 5400
    moment("2026-12-01T09:00", zone, "--at")          # nine o'clock there
    spoken(found.next_at, "Europe/Berlin")            # Mon 23 Nov 2026, 09:00
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from heartbit_site.base.local_times import NoSuchTimeError, localize
from heartbit_site.base.moments import TooFarError, to_utc
from heartbit_site.cli.errors import UsageError
from heartbit_site.cli.output import one_line, seconds

_SPAN: Final = re.compile(r"(\d{1,9})([smhdw])")
_SIZES: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LONG: Final = 172_800  # seconds; from then on days are counted


def span(text: str, option: str) -> int:
    """Return a span in seconds.

    Raises:
        CommandError: It is none.
    """
    parts = _SPAN.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageError(
            f"{option} is {one_line(text, 40)!r}: write a number and its unit (s, m, h, d, w), "
            "such as 15m, 3d or 1h30m."
        )
    return sum(int(number) * _SIZES[unit] for number, unit in parts)


def moment(text: str, zone: ZoneInfo, option: str) -> datetime:
    """Return a point in time; without an offset from UTC it is meant in the zone.

    Raises:
        CommandError: It is none, is out of range, or the zone's clocks leap over it.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{option} is {one_line(text, 40)!r}: write a date and a time, such as "
            "2026-12-01T09:00."
        ) from None
    try:
        if found.tzinfo is not None:
            return to_utc(found)
        return to_utc(localize(found, zone)).astimezone(zone)
    except (NoSuchTimeError, TooFarError) as error:
        raise UsageError(f"{option}: {error}") from None


def time_zone(name: str) -> ZoneInfo:
    """Return the time zone of that name.

    Raises:
        CommandError: There is none here.
    """
    found = _known(name)
    if found is None:
        raise UsageError(
            f"There is no time zone {one_line(name, 60)!r}: write it like Europe/Berlin, or UTC."
        )
    return found


def format_time(time: datetime, zone: str) -> str:
    """Return a time for people, in a zone of theirs, or in UTC if this machine has none."""
    found = _known(zone)
    at = time.astimezone(found or UTC)
    clock = "%H:%M:%S" if at.second else "%H:%M"
    return f"{at:%a %-d %b %Y}, {at:{clock}}{'' if found else ' UTC'}"


def local_minute(time: datetime | None) -> str:
    """Return a time in this machine's zone, to the minute; None is "never"."""
    return "never" if time is None else f"{time.astimezone():%Y-%m-%d %H:%M}"


def format_relative(time: datetime) -> str:
    """Return how far from now a time is: in 3 h 05 min, or 4 days ago."""
    away = (time - datetime.now(UTC)).total_seconds()
    size = abs(away)
    text = seconds(size) if size < _LONG else f"{round(size / _SIZES['d'])} days"
    return f"in {text}" if away >= 0 else f"{text} ago"


def _known(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None
