"""Points in time from outside, as Python, PostgreSQL and every time zone can hold them. No Django.

Python knows the years 1 to 9999 and offsets of up to 24 hours, PostgreSQL many more years and
offsets of up to 16. A time that only one of them can hold fails late: in a query, or when its row
is read.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from heartbit_site.base.errors import HeartbitError

FIRST_YEAR: Final = 2
LAST_YEAR: Final = 9998


class TooFarError(HeartbitError, ValueError):
    """The time is beyond the calendar of some time zone."""


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
            f"The time is too far away: give a year between {FIRST_YEAR} and {LAST_YEAR}."
        )
    return found
