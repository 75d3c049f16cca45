"""Times from outside, within the range of Python, PostgreSQL and all time zones. No Django.

Python knows the years 1 to 9999 and offsets of up to 24 hours, PostgreSQL many more years and
offsets of up to 16. A time that only one of them can hold fails late: in a query, or when its row
is read.

Usage::

    localize(datetime(2026, 12, 1, 9), ZoneInfo("Europe/Berlin"))  # 08:00 UTC
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from heartbit_site.base.errors import HeartbitError


class NoSuchTimeError(ValueError):
    """The zone skips that local time, or its year is out of range; the message is one sentence."""


def localize(local: datetime, zone: ZoneInfo) -> datetime:
    """Return the time in UTC; an ambiguous local time means the first of the two.

    Args:
        local: Date and time of day, without a zone of its own.
        zone: Time zone of the local time.

    Raises:
        NoSuchTimeError: The zone skips that local time, or its year is out of range.
    """
    moment = local.replace(tzinfo=zone, fold=0)
    try:
        shown = moment.astimezone(UTC).astimezone(zone)
    except OverflowError:
        raise NoSuchTimeError(f"The year {local.year} is out of range.") from None
    if shown.replace(tzinfo=None, fold=0) != local.replace(fold=0):
        raise NoSuchTimeError(
            f"There is no {local:%Y-%m-%d %H:%M} in {zone.key}: the clocks skip it. Give an "
            "earlier or a later time."
        )
    return moment.astimezone(UTC)


FIRST_YEAR: Final = 2
LAST_YEAR: Final = 9998


class TooFarError(HeartbitError, ValueError):
    """The time is out of range in some time zone."""


def to_utc(moment: datetime) -> datetime:
    """Return the same time in UTC.

    Args:
        moment: With a time zone.

    Raises:
        TooFarError: Its year in UTC is not between ``FIRST_YEAR`` and ``LAST_YEAR``.
    """
    try:
        found = moment.astimezone(UTC)
    except (OverflowError, ValueError):
        found = None
    if found is None or not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise TooFarError(
            f"The time is out of range: give a year between {FIRST_YEAR} and {LAST_YEAR}."
        )
    return found
