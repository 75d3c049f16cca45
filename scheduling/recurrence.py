"""When a schedule is due: pure arithmetic over points in time, without a clock of its own.

Daylight saving time, for cron expressions (as Debian's cron(8) has it; cronsim computes it):

* A time of day that the clock leaps over is not lost: it fires right after the leap.
* A time of day that comes twice fires once, at its first coming.
* An expression whose minute or hour begins with ``*`` follows the time that passes: nothing is left
  out, and the hour that comes twice has its slots twice.

Intervals are counted in seconds that pass, from where the schedule begins, whatever clocks do.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from scheduling.errors import ScheduleError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scheduling.models import Schedule

SHORTEST_INTERVAL = 10  # seconds
_FIELDS = 5
_LONGEST_LEAP = timedelta(hours=3)


class Recurrence(Protocol):
    """Points in time, all in UTC and whole seconds."""

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Its slots later than ``moment``, the earliest first."""
        ...

    def before(self, moment: datetime) -> Iterator[datetime]:
        """Its slots not later than ``moment``, the latest first."""
        ...

    @property
    def words(self) -> str:
        """How people say it."""
        ...


@dataclass(frozen=True, slots=True)
class Cron:
    """Five fields in a time zone: minute, hour, day of month, month, day of week."""

    expression: str
    zone: ZoneInfo

    def after(self, moment: datetime) -> Iterator[datetime]:
        """See ``Recurrence``."""
        for slot in CronSim(self.expression, moment.astimezone(self.zone)):
            # Within an hour that comes twice, cronsim may name one of its first coming.
            if slot > moment:
                yield slot.astimezone(UTC)

    def before(self, moment: datetime) -> Iterator[datetime]:
        """See ``Recurrence``."""
        # It begins before the moment it is given, which may itself be a slot; and in the second
        # coming of an hour it would leave out what is later by the clock and came in the first.
        later = (moment + _LONGEST_LEAP).astimezone(self.zone)
        for slot in CronSim(self.expression, later, reverse=True):
            if slot <= moment:
                yield slot.astimezone(UTC)

    @property
    def words(self) -> str:
        """See ``Recurrence``."""
        said: str = CronSim(self.expression, datetime.now(UTC)).explain()
        return f"{said} ({self.zone.key})"


@dataclass(frozen=True, slots=True)
class Interval:
    """Every so many seconds, counted from ``begins``."""

    seconds: int
    begins: datetime

    def after(self, moment: datetime) -> Iterator[datetime]:
        """See ``Recurrence``."""
        gone = max(moment - self.begins, timedelta(seconds=-1)) // timedelta(seconds=self.seconds)
        for number in itertools.count(gone + 1):
            yield self._slot(number)

    def before(self, moment: datetime) -> Iterator[datetime]:
        """See ``Recurrence``."""
        for number in range((moment - self.begins) // timedelta(seconds=self.seconds), -1, -1):
            yield self._slot(number)

    def _slot(self, number: int) -> datetime:
        return (self.begins + timedelta(seconds=self.seconds * number)).astimezone(UTC)

    @property
    def words(self) -> str:
        """See ``Recurrence``."""
        for name, size in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
            count, rest = divmod(self.seconds, size)
            if not rest:
                return f"Every {name}" if count == 1 else f"Every {count} {name}s"
        raise AssertionError("every number of seconds is one of seconds")


@dataclass(frozen=True, slots=True)
class Once:
    """One point in time."""

    at: datetime
    zone: ZoneInfo

    def after(self, moment: datetime) -> Iterator[datetime]:
        """See ``Recurrence``."""
        return iter([self.at.astimezone(UTC)] if self.at > moment else [])

    def before(self, moment: datetime) -> Iterator[datetime]:
        """See ``Recurrence``."""
        return iter([self.at.astimezone(UTC)] if self.at <= moment else [])

    @property
    def words(self) -> str:
        """See ``Recurrence``."""
        return f"Once, {format_time(self.at, self.zone)}"


def build_recurrence(schedule: Schedule) -> Recurrence:
    """What a row follows.

    Raises:
        ScheduleError: Its time zone, its cron expression or its interval is none.
    """
    zone = time_zone(schedule.time_zone)
    match schedule.kind:
        case "cron":
            return cron_of(schedule.cron, zone)
        case "interval":
            seconds = schedule.every_seconds
            if seconds is None or seconds < SHORTEST_INTERVAL:
                raise ScheduleError(
                    f"The interval is too short: give at least {SHORTEST_INTERVAL} seconds."
                )
            return Interval(seconds, schedule.begins_at)
        case _:
            if schedule.at is None:
                raise ScheduleError("A one-off schedule needs its time: give it in `at`.")
            return Once(schedule.at, zone)


def time_zone(name: str) -> ZoneInfo:
    """The time zone of that name; older names of it, such as US/Eastern, count too.

    Raises:
        ScheduleError: There is none.
    """
    # Looked up in the list first: ``ZoneInfo`` opens any file of its data by this name.
    if name not in _names():
        raise ScheduleError(
            f"There is no time zone {name[:60]!r}: write it like Europe/Berlin, or UTC."
        )
    return ZoneInfo(name)


@functools.cache
def _names() -> frozenset[str]:
    # What these two mean is each machine's own matter; the second is of no place.
    return frozenset(available_timezones() - {"localtime", "Factory"})


def format_time(moment: datetime, zone: ZoneInfo) -> str:
    """A point in time for people: Mon 23 Nov 2026, 09:00 (Europe/Berlin)."""
    return f"{moment.astimezone(zone):%a %-d %b %Y, %H:%M} ({zone.key})"


def cron_of(expression: str, zone: ZoneInfo) -> Cron:
    """Return what a cron expression means in a time zone.

    Raises:
        ScheduleError: It is none, or never comes true.
    """
    fields = expression.split()
    if len(fields) != _FIELDS:
        raise ScheduleError(
            f"The cron expression {expression[:60]!r} has {len(fields)} fields: write five, minute "
            "hour day month weekday, e.g. 0 9 * * MON."
        )
    try:
        first = next(iter(CronSim(" ".join(fields), datetime.now(UTC))), None)
    except CronSimError as error:
        raise ScheduleError(
            f"The cron expression {expression[:60]!r} is none: {str(error).lower()}."
        ) from None
    if first is None:
        raise ScheduleError(f"The cron expression {expression[:60]!r} never comes true.")
    return Cron(" ".join(fields), zone)
