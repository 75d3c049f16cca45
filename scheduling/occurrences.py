"""Due and upcoming occurrences of a schedule."""

from __future__ import annotations

import hashlib
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from scheduling.choices import CatchUp
from scheduling.errors import ScheduleError
from scheduling.recurrence import SHORTEST_INTERVAL, Interval, Once, Recurrence, cron_of, time_zone

if TYPE_CHECKING:
    from scheduling.models import Schedule

#: An occurrence not fired for this long was missed; the catch-up policy decides about it.
LATE = timedelta(minutes=5)
#: Most missed occurrences that are caught up, the latest ones.
MOST = 100
_EARLIEST = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class DueOccurrences:
    """Occurrences of a schedule that are due.

    Attributes:
        fire: Occurrences to start now, the earliest first.
        skip: Missed occurrences to skip, the earliest first.
        next_occurrence: Earliest occurrence that is not due yet, or None.
    """

    fire: tuple[datetime, ...]
    skip: tuple[datetime, ...]
    next_occurrence: datetime | None


def build_recurrence(schedule: Schedule) -> Recurrence:
    """Return the recurrence of a schedule.

    Raises:
        ScheduleError: The time zone, the cron expression or the interval is not valid.
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


def due(schedule: Schedule, now: datetime) -> DueOccurrences:
    """Sort the occurrences that have elapsed since the schedule was last processed.

    Args:
        schedule: Schedule with its ``next_occurrence``.
        now: Time of the database.

    Raises:
        ScheduleError: The recurrence is not valid.
    """
    first = schedule.next_occurrence
    if first is None:
        return DueOccurrences((), (), None)
    rhythm = build_recurrence(schedule)
    come = _come(schedule, rhythm, now)
    # With jitter an elapsed occurrence may not be due: it waits, and so do those after it.
    times = list(itertools.accumulate((fires_at(schedule, slot) for slot in come), max))
    ready = come[: bisect_right(times, now)]
    if len(ready) < len(come):
        following: datetime | None = come[len(ready)]
    else:
        following = _first(schedule, rhythm, max(now, first - _EARLIEST))
    late = come[: bisect_left(times, now - LATE)]
    on_time = ready[len(late) :]
    match schedule.catch_up:
        case CatchUp.ALL:
            made_up = late[-MOST:]
        case CatchUp.LATEST if not on_time:
            made_up = late[-1:]
        case _:
            made_up = []
    return DueOccurrences((*made_up, *on_time), tuple(late[: len(late) - len(made_up)]), following)


def elapsed_occurrences(schedule: Schedule, now: datetime) -> list[datetime]:
    """Return the occurrences since the schedule was last processed, earliest first.

    They include those that wait for their jitter. Of those that were missed whatever their jitter,
    only the latest are returned: after a year there are too many.

    Raises:
        ScheduleError: The recurrence is not valid.
    """
    return _come(schedule, build_recurrence(schedule), now)


def _come(schedule: Schedule, rhythm: Recurrence, now: datetime) -> list[datetime]:
    first = schedule.next_occurrence
    if first is None:
        return []
    last = min(now, schedule.ends_at) if schedule.ends_at is not None else now
    missed_before = now - LATE - timedelta(seconds=schedule.jitter_seconds)
    come: list[datetime] = []
    missed = 0
    for slot in itertools.takewhile(lambda one: one >= first, rhythm.before(last)):
        if slot < missed_before:
            missed += 1
        if missed > MOST:
            break
        come.append(slot)
    come.reverse()
    return come


def first_slot(schedule: Schedule, now: datetime) -> datetime | None:
    """Return the earliest occurrence from now on, for a new or changed recurrence.

    Raises:
        ScheduleError: The recurrence is not valid.
    """
    return _first(schedule, build_recurrence(schedule), now)


def upcoming_occurrences(schedule: Schedule, now: datetime, count: int) -> list[datetime]:
    """Return the next occurrences, without jitter; fewer than ``count`` at the end.

    Raises:
        ScheduleError: The recurrence is not valid.
    """
    return list(itertools.islice(_later(schedule, build_recurrence(schedule), now), count))


def slots_between(schedule: Schedule, begin: datetime, end: datetime, most: int) -> list[datetime]:
    """Return the first ``most`` occurrences from ``begin`` to ``end``, both inclusive.

    Raises:
        ScheduleError: The recurrence is not valid.
    """
    later = _later(schedule, build_recurrence(schedule), begin - _EARLIEST)
    return list(itertools.islice(itertools.takewhile(lambda slot: slot <= end, later), most))


def fires_at(schedule: Schedule, slot: datetime) -> datetime:
    """Return an occurrence plus its jitter, which is always the same for one occurrence."""
    if not schedule.jitter_seconds:
        return slot
    drawn = hashlib.sha256(f"{schedule.pk}:{slot.timestamp():.0f}".encode()).digest()
    share = int.from_bytes(drawn[:8]) / 2**64
    return slot + timedelta(seconds=share * schedule.jitter_seconds)


def _first(schedule: Schedule, rhythm: Recurrence, moment: datetime) -> datetime | None:
    return next(_later(schedule, rhythm, moment), None)


def _later(schedule: Schedule, rhythm: Recurrence, moment: datetime) -> Iterator[datetime]:
    """Yield the occurrences after a moment, between the schedule's begin and end."""
    begin = max(moment, schedule.begins_at - _EARLIEST)
    for slot in rhythm.after(begin):
        if schedule.ends_at is not None and slot > schedule.ends_at:
            return
        yield slot
