"""What Celery Beat knows of a schedule: a row of django-celery-beat that rings at its times.

Beat only rings; whether a slot is due, and whether it was fired already, the database decides. So
it does no harm that Beat fires a one-off twice after a crash, early after a missed cron slot, or
never while it is down (each worker looks every second, ``agents.housekeeping.scheduler_thread``).
"""

from __future__ import annotations

import json
import re
from datetime import UTC
from typing import TYPE_CHECKING

from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
)

from heartbit_site.base import queues
from scheduling.choices import Kind

if TYPE_CHECKING:
    from django.db.models import Model

    from scheduling.models import Schedule

RING_EXPIRES = 60  # seconds; later the workers' clocks have seen the slot
_PREFIX = "heartbit-schedule-"
#: The last day or weekday of a month, its last Friday, its second Monday.
_ONLY_OURS = re.compile(r"#|\blw?\b|\dl")

_LONGEST_FIELD = 64  # of Beat's columns


def sync_to_beat(schedule: Schedule) -> PeriodicTask | None:
    """Write what Beat rings at, in the caller's transaction.

    Returns:
        The row; None where Beat has no words for the rhythm (``L``, ``#``), or nothing is to come.
    """
    comes = schedule.enabled and schedule.next_occurrence is not None
    rhythm = _rhythm(schedule) if comes else None  # which may be none that Beat can read
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
            # It takes one of the two.
            "expire_seconds": RING_EXPIRES if schedule.ends_at is None else None,
            "expires": schedule.ends_at,
            "start_time": schedule.begins_at,
            "description": f"Rings the schedule {schedule.name}; edit that, not this.",
        },
    )
    return task


def remove_from_beat(schedule: Schedule) -> None:
    """Let Beat forget a schedule, in the caller's transaction."""
    # One by one: only a row's own deletion tells Beat that something changed.
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
    """Beat's row of a rhythm, which all schedules that have this rhythm use.

    Nothing makes it unique: of two workspaces that save a new rhythm at once each makes a row. One
    is as good as the other, so that is no reason to refuse anybody, as ``get_or_create`` would.
    """
    rows = model._default_manager
    return rows.filter(**rhythm).order_by("pk").first() or rows.create(**rhythm)
