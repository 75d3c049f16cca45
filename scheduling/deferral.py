"""Deferral of occurrences that cannot start yet; they are retried for a day.

An obstacle affects all occurrences of a schedule alike, so only the first one is tried; those after
it wait with it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from agents.errors import (
    AgentNotFoundError,
    ConversationBusyError,
    HaltedError,
    NotNowError,
)
from agents.models import Agent
from heartbit_site.base.errors import HeartbitError
from scheduling.choices import CatchUp, FiringStatus, Overlap, Trigger
from scheduling.models import Firing, Schedule
from scheduling.occurrences import MOST
from scheduling.querysets import database_now

#: The pause before a retry equals the time waited so far, within these bounds.
SHORTEST = timedelta(minutes=1)
LONGEST = timedelta(hours=1)
GIVEN_UP = timedelta(days=1)
_NOTE = 300
_AGAIN = "Retried for a day: "
_BEHIND = "It waits for earlier occurrences, which could not start yet."
_REPLACED = "It could not start before the next occurrence: "


def is_transient(error: HeartbitError, schedule: Schedule) -> bool:
    """Return True if an obstacle may pass without a change by the schedule's owner."""
    if isinstance(error, AgentNotFoundError):
        # An existing agent is stopped, or was published just now.
        return Agent.objects.filter(pk=schedule.agent_id, current_version__isnull=False).exists()
    return isinstance(error, HaltedError | NotNowError | ConversationBusyError)


def defer_or_fail(firing: Firing, error: HeartbitError, *, for_now: bool) -> None:
    """Set a firing whose run could not start to deferred, or to failed.

    Args:
        firing: Row to change, saved by the caller; the first in line.
        error: Reason why the run could not start.
        for_now: True if the obstacle may pass; still, the firing fails after a day.
    """
    now = database_now()
    since = firing.first_deferred_at or now
    if not for_now or now - since >= GIVEN_UP:
        firing.status, firing.note = FiringStatus.FAILED, str(error)[:_NOTE]
        firing.first_deferred_at = firing.retry_at = None
        return
    firing.status, firing.note = FiringStatus.DEFERRED, f"{_AGAIN}{error}"[:_NOTE]
    firing.first_deferred_at = since
    firing.retry_at = now + min(max(now - since, SHORTEST), LONGEST)
    behind = deferred_firings(firing.schedule).exclude(pk=firing.pk)
    behind.update(first_deferred_at=Coalesce("first_deferred_at", now), retry_at=firing.retry_at)


def clear_deferrals(schedule: Schedule) -> None:
    """Make the deferred firings due at once, because a run could start."""
    deferred_firings(schedule).filter(retry_at__isnull=False).update(
        first_deferred_at=None, retry_at=None
    )


def defer_behind_first(schedule: Schedule, slot: datetime) -> bool:
    """Defer an occurrence if others of its schedule are deferred; return True if so."""
    first = deferred_firings(schedule).first()
    if first is None:
        return False
    row = Firing(schedule=schedule, scheduled_for=slot, status=FiringStatus.DEFERRED, note=_BEHIND)
    if first.retry_at is not None:
        row.first_deferred_at, row.retry_at = database_now(), first.retry_at
    Firing.objects.bulk_create([row], ignore_conflicts=True)
    return True


def skip_superseded(schedule: Schedule) -> None:
    """Apply the catch-up policy to deferred firings once the next occurrence has come.

    Backfilled occurrences continue to wait; if the overlap policy queues occurrences, all do.
    """
    if schedule.overlap == Overlap.QUEUE:
        return
    kept = MOST - 1 if schedule.catch_up == CatchUp.ALL else 0
    waiting = (
        deferred_firings(schedule)
        .filter(cause=Trigger.SCHEDULE, first_deferred_at__isnull=False)
        .order_by("-scheduled_for")
    )
    for firing in waiting[kept:]:
        firing.status = FiringStatus.SKIPPED
        firing.note = f"{_REPLACED}{firing.note.removeprefix(_AGAIN)}"[:_NOTE]
        firing.first_deferred_at = firing.retry_at = None
        firing.save()


def deferred_firings(schedule: Schedule) -> QuerySet[Firing]:
    """Return the deferred firings, the first in line first."""
    return Firing.objects.filter(schedule=schedule, status=FiringStatus.DEFERRED).order_by(
        "scheduled_for"
    )
