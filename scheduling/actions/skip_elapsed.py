"""Skip the firings that another installation may have started since a backup."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from scheduling.beat_sync import sync_to_beat
from scheduling.choices import FiringStatus
from scheduling.errors import ScheduleError
from scheduling.firings import deferred_firings, record_firing
from scheduling.models import Schedule
from scheduling.occurrences import elapsed_occurrences, fires_at, first_slot
from scheduling.querysets import database_now


@transaction.atomic
def skip_elapsed(why: str) -> list[Schedule]:
    """Skip deferred firings, and occurrences that have elapsed; the next ones fire as usual.

    Args:
        why: Reason, stored with each skipped firing.

    Returns:
        The schedules that had any, by workspace and name.
    """
    now = database_now()
    rows = Schedule.objects.select_for_update(no_key=True, of=("self",))
    rows = rows.select_related("workspace", "agent").order_by("workspace__slug", "name")
    return [schedule for schedule in rows if _skip(schedule, now, why)]


def _skip(schedule: Schedule, now: datetime, why: str) -> bool:
    deferred = deferred_firings(schedule).update(
        status=FiringStatus.SKIPPED, note=why, first_deferred_at=None, retry_at=None
    )
    if schedule.next_occurrence is None or schedule.next_occurrence > now:
        return bool(deferred)
    try:
        for slot in elapsed_occurrences(schedule, now):
            record_firing(schedule, slot, FiringStatus.SKIPPED, why)
        schedule.last_occurrence = schedule.next_occurrence
        schedule.next_occurrence = first_slot(schedule, now)
    except ScheduleError:  # the next check of due schedules pauses it, and says why
        return bool(deferred)
    schedule.next_at = None
    if schedule.next_occurrence is not None:
        schedule.next_at = fires_at(schedule, schedule.next_occurrence)
    schedule.periodic_task = sync_to_beat(schedule)
    columns = ["last_occurrence", "next_occurrence", "next_at", "periodic_task"]
    schedule.save(update_fields=columns)
    return True
