"""What single values of a schedule have to be, beyond their types: as ``rules``, with models.

Usage::

    TimeZone = Annotated[str, AfterValidator(schedule_rules.time_zone)]
"""

from __future__ import annotations

from agents.definitions.rules import storable
from scheduling import rhythm
from scheduling.choices import Kind
from scheduling.errors import ScheduleError
from scheduling.models import Schedule


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


def _unusable(error: ScheduleError) -> str:
    sentence = str(error)
    return f"cannot be used: {sentence[:1].lower()}{sentence[1:].rstrip('.')}"
