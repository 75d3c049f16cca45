"""Firing of due occurrences.

Each check takes a limited number of schedules, the earliest due first. Schedules that fail each
time would stay among the first; a hundred of them would keep all others from firing.

The row in ``Firing``, its run, and the schedule's next occurrence are one transaction, and
``Firing`` has each occurrence once. So each occurrence fires exactly once, despite several Beats
and schedulers, lost and repeated messages, and worker crashes.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime

from django.db import transaction

from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.database_faults import is_away
from scheduling.beat_sync import remove_from_beat, sync_to_beat
from scheduling.choices import FiringStatus, Overlap, Trigger
from scheduling.cost_brake import burning_run
from scheduling.errors import ScheduleError
from scheduling.firings import (
    defer_behind_first,
    deferred_firings,
    has_running_run,
    record_firing,
    skip_superseded,
    start_firing,
)
from scheduling.models import Schedule
from scheduling.occurrences import due, fires_at
from scheduling.querysets import database_now, due_schedules
from scheduling.slot_decisions import waits_for_test

logger = logging.getLogger(__name__)

_BRAKE = Actor("cost brake", "system")

SECONDS = 60.0
SILENCE_SECONDS = 3600.0
MOST = 1000  # sentences kept, however often they vary


class FailureBackoff:
    """Failed schedules of one process; other processes keep their own."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until: dict[int, float] = {}
        self._said: dict[tuple[int, str], float] = {}

    def put(self, schedule_id: int) -> None:
        """Exclude a schedule for ``SECONDS``."""
        self._until[schedule_id] = self._clock() + SECONDS

    def ids(self) -> list[int]:
        """Return the schedules that are excluded now."""
        now = self._clock()
        # A copy, because a worker's scheduler and its tasks may be threads of one process.
        self._until = {one: until for one, until in dict(self._until).items() if until > now}
        return list(self._until)

    def is_news(self, schedule_id: int, sentence: str) -> bool:
        """Return True if the failure was not logged within an hour, and note it."""
        now, key = self._clock(), (schedule_id, sentence)
        said = self._said.get(key)
        if said is not None and now - said < SILENCE_SECONDS:
            return False
        self._said.pop(key, None)  # keeps the oldest first
        self._said[key] = now
        if len(self._said) > MOST:
            del self._said[next(iter(self._said))]
        return True


AT_ONCE = 100
MOST_HELD = 100  # of a schedule, besides backfilled ones
_BUSY = "The previous run was still active."
_aside = FailureBackoff()
_PASSED = "It was missed, and is not caught up."


def fire_due(only: int | None = None) -> int:
    """Start the runs of all due schedules.

    Args:
        only: Id of the one schedule to check.

    Returns:
        Number of occurrences processed.
    """
    found = due_schedules(AT_ONCE, only=only, aside=_aside.ids())
    return sum(_fired(schedule_id) for schedule_id in found)


def _fired(schedule_id: int) -> int:
    """Fire one schedule; its own defects do not keep others from firing."""
    try:
        return _fire(schedule_id)
    except Exception as error:
        if is_away(error):
            raise  # for all of them
        _aside.put(schedule_id)
        if _aside.is_news(schedule_id, f"{type(error).__name__}: {error}"):
            logger.exception(
                "the schedule %d could not be fired; retrying each minute, next log entry in an "
                "hour",
                schedule_id,
            )
        return 0


@transaction.atomic
def _fire(schedule_id: int) -> int:
    """Fire one schedule, unless another process is firing it."""
    locked = Schedule.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
    schedule = locked.filter(pk=schedule_id).first()
    if schedule is None:
        return 0
    if not schedule.enabled:  # paused, perhaps since it was found
        return 0
    now = database_now()
    done = _start_held(schedule, now)
    if schedule.next_at is None or schedule.next_at > now:
        return done
    try:
        found = due(schedule, now)
    except ScheduleError as error:  # such as a time zone unknown to this machine
        logger.error("the schedule %s cannot be read, and is paused: %s", schedule, error)
        _pause(schedule)
        return done
    if found.fire and (burnt := burning_run(schedule)) is not None:
        schedule.braked_run_id, reason = burnt
        for slot in (*found.skip, *found.fire):
            record_firing(schedule, slot, FiringStatus.SKIPPED, reason)
        record_on(_BRAKE, "schedule.brake", schedule, details={"reason": reason})
        _pause(schedule)
        return done + 1
    for slot in found.skip:
        record_firing(schedule, slot, FiringStatus.SKIPPED, _PASSED)
    for slot in found.fire:
        _take(schedule, slot)
    _move_on(schedule, found.next_occurrence, now)
    return done + len(found.skip) + len(found.fire)


def _take(schedule: Schedule, slot: datetime) -> None:
    """Start an occurrence, or defer or skip it while the previous run is running."""
    if schedule.overlap == Overlap.PARALLEL or not has_running_run(schedule):
        skip_superseded(schedule)
        if not defer_behind_first(schedule, slot):
            start_firing(schedule, slot, Trigger.SCHEDULE)
    elif schedule.overlap != Overlap.QUEUE:
        record_firing(schedule, slot, FiringStatus.SKIPPED, _BUSY)
    elif deferred_firings(schedule).filter(cause=Trigger.SCHEDULE).count() < MOST_HELD:
        record_firing(schedule, slot, FiringStatus.DEFERRED, _BUSY)
    else:
        many = f"{_BUSY} {MOST_HELD} firings already wait for its end."
        record_firing(schedule, slot, FiringStatus.SKIPPED, many)


def _start_held(schedule: Schedule, now: datetime) -> int:
    """Start deferred firings: the next one, or all if runs may overlap."""
    done = 0
    for firing in deferred_firings(schedule)[:AT_ONCE]:
        if firing.retry_at is not None and firing.retry_at > now:
            break
        if schedule.overlap != Overlap.PARALLEL and has_running_run(schedule):
            break
        if waits_for_test(firing):  # so do those after it, one test at a time
            break
        tried = start_firing(schedule, firing.scheduled_for, Trigger(firing.cause))
        done += 1
        if tried.status == FiringStatus.DEFERRED:
            break
    return done


def _move_on(schedule: Schedule, next_occurrence: datetime | None, now: datetime) -> None:
    schedule.last_occurrence = (
        max(now, schedule.last_occurrence) if schedule.last_occurrence else now
    )
    schedule.next_occurrence = next_occurrence
    schedule.next_at = fires_at(schedule, next_occurrence) if next_occurrence is not None else None
    if next_occurrence is None:
        remove_from_beat(schedule)
        schedule.periodic_task = None
    schedule.save(update_fields=["last_occurrence", "next_occurrence", "next_at", "periodic_task"])


def _pause(schedule: Schedule) -> None:
    schedule.enabled = False
    schedule.next_occurrence = schedule.next_at = None
    schedule.save(update_fields=["enabled", "next_occurrence", "next_at", "braked_run_id"])
    sync_to_beat(schedule)
