"""What single values of a schedule have to be, beyond their types: as ``rules``, with models.

Usage::

    TimeZone = Annotated[str, AfterValidator(schedule_rules.time_zone)]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agents.definitions.rules import storable
from heartbit_site.base.moments import TooFarError, to_utc
from scheduling import rhythm
from scheduling.choices import Kind
from scheduling.errors import ScheduleError
from scheduling.models import Schedule

if TYPE_CHECKING:
    from datetime import datetime

_YEARS: Final = range(2000, 2200)


def titled(name: str) -> str:
    """A name that people choose freely."""
    if not name.strip():
        raise ValueError("must not be empty")
    if name.strip().isdecimal():
        raise ValueError("must be more than a number")
    return storable(name).strip()


def cron(expression: str) -> str:
    """A cron expression that comes true some time."""
    try:
        rhythm.rhythm_of(Schedule(kind=Kind.CRON, cron=storable(expression)))
    except ScheduleError as error:
        raise ValueError(_unusable(error)) from None
    return " ".join(expression.split())


def time_zone(name: str) -> str:
    """A time zone that this machine knows."""
    try:
        rhythm.time_zone(name)
    except ScheduleError as error:
        raise ValueError(_unusable(error)) from None
    return name


def moment(value: datetime) -> datetime:
    """A time that the calendars of all zones have, in whole seconds."""
    wrong = ValueError(f"must be between the years {_YEARS.start} and {_YEARS.stop - 1}")
    try:
        found = to_utc(value)
    except TooFarError:
        raise wrong from None
    if found.year not in _YEARS:
        raise wrong
    return found.replace(microsecond=0)


def _unusable(error: ScheduleError) -> str:
    sentence = str(error)
    return f"cannot be used: {sentence[:1].lower()}{sentence[1:].rstrip('.')}"
