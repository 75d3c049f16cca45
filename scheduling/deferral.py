"""Slots that cannot start for now: they wait, and are tried again for a day.

What is in the way concerns all slots of a schedule alike, so only the first in line is tried; those
behind it wait with it.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models.functions import Coalesce

from agents.errors import (
    AgentNotFoundError,
    ConversationBusyError,
    HaltedError,
    QuotaExceededError,
)
from agents.models import Agent
from scheduling.choices import CatchUp, FiringStatus, Overlap, Trigger
from scheduling.models import Firing
from scheduling.occurrences import MOST
from scheduling.querysets import database_now

if TYPE_CHECKING:
    from datetime import datetime

    from django.db.models import QuerySet

    from heartbit_site.base.errors import HeartbitError
    from scheduling.models import Schedule

#: The pause before it is tried again is as long as it has waited so far, between these.
SHORTEST = timedelta(minutes=1)
LONGEST = timedelta(hours=1)
GIVEN_UP = timedelta(days=1)
_NOTE = 300
_AGAIN = "Tried again for a day: "
_BEHIND = "It waits for the slots before it, which could not start yet."
_REPLACED = "It could not start before the next slot came: "


def is_transient(error: HeartbitError, schedule: Schedule) -> bool:
    """Whether what kept a run from starting is nothing that the schedule's owner has to mend."""
    if isinstance(error, AgentNotFoundError):
        # Where it is there it is stopped, or was published this very moment.
        return Agent.objects.filter(pk=schedule.agent_id, current_version__isnull=False).exists()
    return isinstance(error, HaltedError | QuotaExceededError | ConversationBusyError)


def defer_or_fail(firing: Firing, error: HeartbitError, *, for_now: bool) -> None:
    """Set what becomes of a slot whose run could not start: it waits, or it has failed.

    Args:
        firing: Its row, which the caller saves; it is the first in line.
        error: What was in the way.
        for_now: That may pass; still, after a day the slot is given up.
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
    """A run has started: nothing is in the way of the others any more."""
    deferred_firings(schedule).filter(retry_at__isnull=False).update(
        first_deferred_at=None, retry_at=None
    )


def defer_behind_first(schedule: Schedule, slot: datetime) -> bool:
    """Let a slot wait if others of its schedule do; whether it does."""
    first = deferred_firings(schedule).first()
    if first is None:
        return False
    row = Firing(schedule=schedule, scheduled_for=slot, status=FiringStatus.DEFERRED, note=_BEHIND)
    if first.retry_at is not None:
        row.first_deferred_at, row.retry_at = database_now(), first.retry_at
    Firing.objects.bulk_create([row], ignore_conflicts=True)
    return True


def skip_superseded(schedule: Schedule) -> None:
    """The next slot has come: what waits has been missed, and the policy for that decides.

    What was asked for afterwards goes on waiting; so does everything where slots queue.
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
    """The slots that wait, the first in line first."""
    return Firing.objects.filter(schedule=schedule, status=FiringStatus.DEFERRED).order_by(
        "scheduled_for"
    )
