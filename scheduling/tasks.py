"""Celery tasks of schedules."""

from __future__ import annotations

from celery import shared_task

from heartbit_site.base import queues
from scheduling.actions.fire_due import fire_due
from scheduling.actions.remove_schedule import prune_firings as prune


@shared_task(name=queues.FIRE_SCHEDULE)
def fire_schedule(schedule_id: int) -> int:
    """Fire the due occurrences of a schedule, as Beat requests; return their number."""
    return fire_due(only=schedule_id)


@shared_task(name=queues.PRUNE_FIRINGS)
def prune_firings() -> int:
    """Delete old firings; return the number of rows deleted."""
    return prune()
