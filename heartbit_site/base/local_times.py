"""Local times of a time zone as points in time. No Django.

Usage::

    localize(datetime(2026, 12, 1, 9), ZoneInfo("Europe/Berlin"))  # 08:00 UTC
"""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo


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
        raise NoSuchTimeError(f"The year {local.year} is too far away.") from None
    if shown.replace(tzinfo=None, fold=0) != local.replace(fold=0):
        raise NoSuchTimeError(
            f"There is no {local:%Y-%m-%d %H:%M} in {zone.key}: the clocks leap over it. "
            "Give an earlier or a later time."
        )
    return moment.astimezone(UTC)
