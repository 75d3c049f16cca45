"""Mirror of a schedule in Celery Beat: a row of django-celery-beat.

Beat only sends a message; the database decides whether an occurrence is due and whether it was
fired already. So it does no harm that Beat fires a one-off twice after a crash, early after a
missed cron occurrence, or never while it is down (each worker looks every second,
``agents.housekeeping.scheduler_thread``).
"""

from __future__ import annotations

import json
import re
from datetime import UTC

from django.db.models import Model
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
)

from heartbit_site.base import queues
from scheduling.choices import Kind
from scheduling.models import Schedule

RING_EXPIRES = 60  # seconds; later the workers' schedulers have found the occurrence
_PREFIX = "heartbit-schedule-"
#: Cron syntax that Beat lacks: the last day or weekday of a month, its last or second Monday.
_ONLY_OURS = re.compile(r"#|\blw?\b|\dl")

_LONGEST_FIELD = 64  # length of Beat's columns


def sync_to_beat(schedule: Schedule) -> PeriodicTask | None:
    """Create or update Beat's row of a schedule, in the caller's transaction.

    Returns:
        The row; None if Beat cannot express the recurrence (``L``, ``#``) or no occurrence is left.
    """
    comes = schedule.enabled and schedule.next_occurrence is not None
    rhythm = _rhythm(schedule) if comes else None  # None too if Beat cannot express it
    if rhythm is None:
        remove_from_beat(schedule)
        return None
    fields = {"crontab": None, "interval": None, "clocked": None} | rhythm
    task, _ = PeriodicTask.objects.update_or_create(
        name=f"{_PREFIX}{schedule.pk}",
        defaults={
            **fields,
            "task": queues.FIRE_SCHEDULE,
            "args": json.dumps([schedule.pk]),
            "queue": queues.SYSTEM,
            "one_off": schedule.kind == Kind.ONCE,
            "enabled": True,
            # Beat accepts only one of the two.
            "expire_seconds": RING_EXPIRES if schedule.ends_at is None else None,
            "expires": schedule.ends_at,
            "start_time": schedule.begins_at,
            "description": f"Wakes the schedule {schedule.name}; edit the schedule instead.",
        },
    )
    return task


def remove_from_beat(schedule: Schedule) -> None:
    """Delete Beat's row of a schedule, in the caller's transaction."""
    # One by one: only the deletion of a single row notifies Beat.
    for task in PeriodicTask.objects.filter(name=f"{_PREFIX}{schedule.pk}"):
        task.delete()


def _rhythm(schedule: Schedule) -> dict[str, object] | None:
    match schedule.kind:
        case Kind.CRON:
            crontab = _crontab(schedule)
            return {"crontab": crontab} if crontab is not None else None
        case Kind.INTERVAL:
            every = {"every": schedule.every_seconds, "period": IntervalSchedule.SECONDS}
            return {"interval": _shared(IntervalSchedule, **every)}
        case _:
            if schedule.at is None:
                return None
            return {"clocked": _shared(ClockedSchedule, clocked_time=schedule.at.astimezone(UTC))}


def _crontab(schedule: Schedule) -> Model | None:
    minute, hour, day, month, weekday = schedule.cron.lower().split()
    if _ONLY_OURS.search(schedule.cron.lower()) or max(len(month), len(weekday)) > _LONGEST_FIELD:
        return None
    return _shared(
        CrontabSchedule,
        minute=minute,
        hour=hour,
        day_of_month=day,
        month_of_year=month,
        day_of_week=weekday.replace("7", "0"),
        timezone=schedule.time_zone,
    )


def _shared(model: type[Model], **rhythm: object) -> Model:
    """Return Beat's row of a recurrence, shared by all schedules with that recurrence.

    The row is not unique: two workspaces may each create one at the same time. Either is valid, so
    this must not fail, as ``get_or_create`` would.
    """
    rows = model._default_manager
    return rows.filter(**rhythm).order_by("pk").first() or rows.create(**rhythm)
