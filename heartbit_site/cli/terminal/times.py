"""Points in time and spans as people type them, and as they read them. No Django.

Usage::

    span("1h30m", "--every")                          # 5400
    moment("2026-12-01T09:00", zone, "--at")          # nine o'clock there
    spoken(found.next_at, "Europe/Berlin")            # Mon 23 Nov 2026, 09:00
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from heartbit_site.base.amounts import duration
from heartbit_site.base.moments import NoSuchTimeError, TooFarError, localize, to_utc
from heartbit_site.cli.terminal.errors import UsageError
from heartbit_site.cli.terminal.output import one_line

_PART: Final = re.compile(r"(\d{1,9})([smhdw])")
_SPAN: Final = re.compile(rf"(?:{_PART.pattern})+")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_SIZES: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def span(text: str, option: str) -> int:
    """Return a span in seconds.

    Raises:
        CommandError: It is none.
    """
    if not _SPAN.fullmatch(text):
        raise UsageError(
            f"{option} is {one_line(text, 40)!r}: write a number and its unit (s, m, h, d, w), "
            "such as 15m, 3d or 1h30m."
        )
    return sum(int(number) * _SIZES[unit] for number, unit in _PART.findall(text))


def after(text: str, option: str) -> datetime:
    """Return the time so long from now as a span says.

    Raises:
        CommandError: It is no span, or too long a one.
    """
    try:
        return to_utc(datetime.now(UTC) + timedelta(seconds=span(text, option)))
    except (OverflowError, TooFarError):
        raise UsageError(
            f"{option} is too long: the time has to be before the year 9999."
        ) from None


def until(text: str, now: datetime) -> datetime:
    """`2h`, `3d`, `2026-12-31` (that day included) or `2026-12-31T18:00`, after `now`.

    Args:
        text: What a person wrote; a time without a zone is in `now`'s.
        now: The present, with its zone.

    Raises:
        CommandError: It is none of these, or is past.
    """
    word = text.strip()
    try:
        if _SPAN.fullmatch(word.lower()):
            found = now + timedelta(seconds=span(word.lower(), "--until"))
        else:
            found = datetime.fromisoformat(word)
            found = found if found.tzinfo else found.replace(tzinfo=now.tzinfo)
        found = to_utc(found + timedelta(days=1) if _DAY.fullmatch(word) else found)
    except TooFarError as error:
        raise UsageError(f"--until {text!r}: {error}") from None
    except (ValueError, OverflowError):
        raise UsageError(
            f"--until {text!r} is no time: write 90m, 2h, 3d, 2026-12-31 or 2026-12-31T18:00."
        ) from None
    if found <= now:
        raise UsageError(f"--until {text!r} is in the past: name a moment to come.")
    return found


def moment(text: str, zone: ZoneInfo, option: str) -> datetime:
    """Return a point in time; without an offset from UTC it is meant in the zone.

    Raises:
        CommandError: It is none, is out of range, or the clocks skip it.
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
    text = duration(abs(away))
    return f"in {text}" if away >= 0 else f"{text} ago"


def _known(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        return None
