"""Rules for single values of a schedule. No Django."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heartbit_site.base.moments import TooFarError, to_utc

if TYPE_CHECKING:
    from datetime import datetime

TASK_CHARACTERS: Final = 20_000
LONGEST_JITTER: Final = 3600  # seconds
SHORTEST_INTERVAL: Final = 10  # seconds
_YEARS: Final = range(2000, 2200)


def moment(value: datetime) -> datetime:
    """Return a time that the calendars of all zones have, in whole seconds."""
    wrong = ValueError(f"must be between the years {_YEARS.start} and {_YEARS.stop - 1}")
    try:
        found = to_utc(value)
    except TooFarError:
        raise wrong from None
    if found.year not in _YEARS:
        raise wrong
    return found.replace(microsecond=0)
