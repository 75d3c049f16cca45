"""Which slots of a schedule are due, and when the next one is."""

from __future__ import annotations

import hashlib
import itertools
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from scheduling.choices import CatchUp
from scheduling.recurrence import build_recurrence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scheduling.models import Schedule
    from scheduling.recurrence import Recurrence

#: A slot that nobody fired for so long was missed; the policy for missed ones decides about it.
LATE = timedelta(minutes=5)
#: So many missed slots are made up for at most, the latest ones.
MOST = 100
_EARLIEST = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class DueOccurrences:
    """What a look at a schedule found.

    Attributes:
        fire: Slots to start now, the earliest first.
        skip: Slots that were missed and are let pass, the earliest first.
        next_occurrence: The earliest slot that is not due yet; None: there is none.
    """

    fire: tuple[datetime, ...]
    skip: tuple[datetime, ...]
    next_occurrence: datetime | None


def due(schedule: Schedule, now: datetime) -> DueOccurrences:
    """Sort the slots that have come since the schedule was last looked at.

    Args:
        schedule: A row with its ``next_occurrence``.
        now: The database's time.

    Raises:
        ScheduleError: Its rhythm is none.
    """
    first = schedule.next_occurrence
    if first is None:
        return DueOccurrences((), (), None)
    rhythm = build_recurrence(schedule)
    come = _come(schedule, rhythm, now)
    # With jitter a slot may have come and not be due: it waits, and so do those after it.
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
    """The slots since the schedule was last looked at, due or not, the earliest first.

    Of those that were missed, whatever their jitter, the latest: after a year there are too many.
    All others, however many come within the jitter: they may still be waiting.

    Raises:
        ScheduleError: Its rhythm is none.
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
    """The earliest slot from now on, of a new schedule or of one whose rhythm was changed.

    Raises:
        ScheduleError: Its rhythm is none.
    """
    return _first(schedule, build_recurrence(schedule), now)


def upcoming_occurrences(schedule: Schedule, now: datetime, count: int) -> list[datetime]:
    """The slots to come, without jitter; fewer if there are no more.

    Raises:
        ScheduleError: Its rhythm is none.
    """
    return list(itertools.islice(_later(schedule, build_recurrence(schedule), now), count))


def slots_between(schedule: Schedule, begin: datetime, end: datetime, most: int) -> list[datetime]:
    """The slots from ``begin`` to ``end``, both included; ``most`` of them, the earliest.

    Raises:
        ScheduleError: Its rhythm is none.
    """
    later = _later(schedule, build_recurrence(schedule), begin - _EARLIEST)
    return list(itertools.islice(itertools.takewhile(lambda slot: slot <= end, later), most))


def fires_at(schedule: Schedule, slot: datetime) -> datetime:
    """A slot and its jitter, which is always the same for the same slot."""
    if not schedule.jitter_seconds:
        return slot
    drawn = hashlib.sha256(f"{schedule.pk}:{slot.timestamp():.0f}".encode()).digest()
    share = int.from_bytes(drawn[:8]) / 2**64
    return slot + timedelta(seconds=share * schedule.jitter_seconds)


def _first(schedule: Schedule, rhythm: Recurrence, moment: datetime) -> datetime | None:
    return next(_later(schedule, rhythm, moment), None)


def _later(schedule: Schedule, rhythm: Recurrence, moment: datetime) -> Iterator[datetime]:
    """The slots after a moment, between the schedule's begin and end."""
    begin = max(moment, schedule.begins_at - _EARLIEST)
    for slot in rhythm.after(begin):
        if schedule.ends_at is not None and slot > schedule.ends_at:
            return
        yield slot
