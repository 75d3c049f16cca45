"""Recurrence of schedules: pure arithmetic over points in time, without a clock of its own.

Daylight saving time, for cron expressions (as Debian's cron(8) has it; cronsim yields the local
times, which are converted here: its own arithmetic is wrong where clocks change by half an hour):

* A time of day that the clock skips is not lost: it fires right after the skip.
* A time of day that repeats fires once, the first time.
* An expression whose minute or hour begins with ``*`` follows elapsed time: nothing is left out,
  and the repeated hour has its occurrences twice.

Intervals are counted in elapsed seconds from the schedule's begin, whatever clocks do.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError

from scheduling.errors import ScheduleError

SHORTEST_INTERVAL = 10  # seconds
_FIELDS = 5
_LONGEST_LEAP = timedelta(hours=3)
_MINUTE = timedelta(minutes=1)


class Recurrence(Protocol):
    """Points in time, all in UTC and whole seconds."""

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Return the occurrences later than ``moment``, the earliest first."""
        ...

    def before(self, moment: datetime) -> Iterator[datetime]:
        """Return the occurrences not later than ``moment``, the latest first."""
        ...

    @property
    def words(self) -> str:
        """Description for people."""
        ...


@dataclass(frozen=True, slots=True)
class Cron:
    """Cron expression in a time zone: minute, hour, day of month, month, day of week."""

    expression: str
    zone: ZoneInfo

    def after(self, moment: datetime) -> Iterator[datetime]:
        """See ``Recurrence``."""
        return (slot for slot in self._slots(moment - _LONGEST_LEAP) if slot > moment)

    def before(self, moment: datetime) -> Iterator[datetime]:
        """See ``Recurrence``."""
        slots = self._slots(moment + _LONGEST_LEAP, reverse=True)
        return (slot for slot in slots if slot <= moment)

    def _slots(self, begin: datetime, *, reverse: bool = False) -> Iterator[datetime]:
        """Yield the occurrences from about ``begin`` on, in order and each once."""
        local = begin.astimezone(self.zone).replace(tzinfo=None)
        walls = CronSim(self.expression, local, reverse=reverse)
        if self._follows_elapsed_time:
            # A repeated local time stands for two moments, a skipped one for none.
            first, second = itertools.tee(wall for wall in walls if self._exists(wall))
            passes = (self._moments(first, fold=0), self._moments(second, fold=1))
            every = heapq.merge(*passes, reverse=reverse)
            return _once(every)
        return _once(self._moments(map(self._past_leap, walls), fold=0))

    @property
    def _follows_elapsed_time(self) -> bool:
        return any(field.startswith("*") for field in self.expression.split()[:2])

    def _moments(self, walls: Iterable[datetime], *, fold: int) -> Iterator[datetime]:
        return (wall.replace(tzinfo=self.zone, fold=fold).astimezone(UTC) for wall in walls)

    def _past_leap(self, wall: datetime) -> datetime:
        """Return a local time, or the first one after the clock change that skips it."""
        while not self._exists(wall):
            wall += _MINUTE
        return wall

    def _exists(self, wall: datetime) -> bool:
        there = wall.replace(tzinfo=self.zone).astimezone(UTC).astimezone(self.zone)
        return there.replace(tzinfo=None, fold=0) == wall

    @property
    def words(self) -> str:
        """See ``Recurrence``."""
        said: str = CronSim(self.expression, datetime.now(UTC)).explain()
        return f"{said} ({self.zone.key})"


def _once(moments: Iterable[datetime]) -> Iterator[datetime]:
    return (moment for moment, _ in itertools.groupby(moments))


@dataclass(frozen=True, slots=True)
class Interval:
    """Every ``seconds`` seconds, counted from ``begins``."""

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
        raise AssertionError("every number of seconds is a multiple of one second")


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


def time_zone(name: str) -> ZoneInfo:
    """Return the time zone with that name; older names, such as US/Eastern, count too.

    Raises:
        ScheduleError: No such time zone exists.
    """
    # Checked against the list first: ``ZoneInfo`` opens any file of its data by this name.
    if name not in _names():
        raise ScheduleError(
            f"There is no time zone {name[:60]!r}: write it like Europe/Berlin, or UTC."
        )
    return ZoneInfo(name)


@functools.cache
def _names() -> frozenset[str]:
    # Their meaning depends on the machine; the second is no place.
    return frozenset(available_timezones() - {"localtime", "Factory"})


def format_time(moment: datetime, zone: ZoneInfo, *, seconds: bool = False) -> str:
    """Return a point in time for people: Mon 23 Nov 2026, 09:00 (Europe/Berlin)."""
    clock = "%H:%M:%S" if seconds else "%H:%M"
    return f"{moment.astimezone(zone):%a %-d %b %Y, {clock}} ({zone.key})"


def cron_of(expression: str, zone: ZoneInfo) -> Cron:
    """Return a cron expression's recurrence in a time zone.

    Raises:
        ScheduleError: The expression is not valid, or never matches.
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
            f"The cron expression {expression[:60]!r} is not valid: {str(error).lower()}."
        ) from None
    if first is None:
        raise ScheduleError(f"The cron expression {expression[:60]!r} never comes true.")
    return Cron(" ".join(fields), zone)
