"""Rules for the value of a single setting of a schedule, beyond its type. No Django.

Each rule takes the value and returns it, or raises ``ValueError`` with the end of a sentence that
begins with the setting's name, as those of ``agents.definitions.validators`` do.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from heartbit_site.base.moments import TooFarError, to_utc
from scheduling import recurrence
from scheduling.errors import ScheduleError

_YEARS: Final = range(2000, 2200)
_UTC: Final = ZoneInfo("UTC")
#: `POST /schedules/preview` is a path of the REST API, so no schedule may have this name.
PREVIEW: Final = "preview"


class UnusableError(ValueError):
    """A value that is not valid for a setting.

    Attributes:
        sentence: Complete sentence, for contexts that do not name the setting.
    """

    def __init__(self, end: str, sentence: str) -> None:
        super().__init__(end)
        self.sentence = sentence


def titled(name: str) -> str:
    """Return a name that people choose freely."""
    if not name.strip():
        raise UnusableError("must not be empty", "A schedule needs a name that states its purpose.")
    if name.strip().isdecimal():  # schedules are also found by number
        raise UnusableError(
            "must not be only a number",
            "A schedule's name must not be only a number: state its purpose.",
        )
    if name.strip() == PREVIEW:
        raise UnusableError(
            "must not be 'preview'",
            "A schedule's name cannot be 'preview', which is a path of the REST API: choose "
            "another name.",
        )
    return name.strip()


def cron(expression: str) -> str:
    """Return a cron expression that comes true at some time."""
    try:
        return recurrence.cron_of(expression, _UTC).expression
    except ScheduleError as error:
        raise _unusable(error) from None


def time_zone(name: str) -> str:
    """Return the name of a time zone known to this machine."""
    try:
        recurrence.time_zone(name)
    except ScheduleError as error:
        raise _unusable(error) from None
    return name


def moment(value: datetime) -> datetime:
    """Return a time within the calendars of all zones, in whole seconds."""
    wrong = ValueError(f"must be between the years {_YEARS.start} and {_YEARS.stop - 1}")
    try:
        found = to_utc(value)
    except TooFarError:
        raise wrong from None
    if found.year not in _YEARS:
        raise wrong
    return found.replace(microsecond=0)


def _unusable(error: ScheduleError) -> UnusableError:
    sentence = str(error)
    return UnusableError(
        f"cannot be used: {sentence[:1].lower()}{sentence[1:].rstrip('.')}", sentence
    )
