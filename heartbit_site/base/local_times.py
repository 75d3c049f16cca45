"""Points in time that people write as their clock shows them. No Django.

Usage::

    moment_there(datetime(2026, 12, 1, 9), ZoneInfo("Europe/Berlin"))  # 08:00 UTC
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo


class NoSuchTimeError(ValueError):
    """No clock in the zone ever shows that time; the message says so as one sentence."""


def localize(local: datetime, zone: ZoneInfo) -> datetime:
    """When clocks in the zone show that time; what they show twice means the first coming.

    Args:
        local: Date and time of day, without a zone of its own.
        zone: Where.

    Raises:
        NoSuchTimeError: The clocks leap over it when they are changed, or it is too far away.
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
