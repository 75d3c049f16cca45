"""Runs of a schedule besides its occurrences: one now, or a backfill of past ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from agents.delivery.targets import EmailTarget, Target
from agents.runs.idempotency_keys import stored_key
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.rights import require
from scheduling.choices import FiringStatus, Trigger
from scheduling.errors import ScheduleConflictError, ScheduleError
from scheduling.firings import start_firing
from scheduling.models import Firing, Schedule
from scheduling.occurrences import slots_between
from scheduling.querysets import database_now


def run_schedule_now(schedule: Schedule, *, by: Actor, key: str | None = None) -> UUID:
    """Start a run as an occurrence would, even if the schedule is paused.

    Args:
        schedule: Saved schedule.
        by: Author, for the audit.
        key: Idempotency key of the run; None: a new one.

    Returns:
        The run's id.

    Raises:
        ReservedKeyError: The key has the prefix of Heartbit's own keys.
        ScheduleConflictError: No run can be started; the message gives the reason. Nothing is
            recorded.
    """
    require(by, "runs:write", workspace_id=schedule.workspace_id)
    stored_key(key)
    return _run(schedule, Trigger.MANUAL, by=by, key=key)


def run_as_test(schedule: Schedule, *, by: Actor, mail_to: str = "") -> UUID:
    """Start a run as an occurrence would, but deliver its result to one person only.

    Args:
        schedule: Saved schedule.
        by: Author, for the audit.
        mail_to: The person's address; empty: nothing is delivered, the run's page has the result.

    Returns:
        The run's id.

    Raises:
        ScheduleConflictError: No run can be started; the message gives the reason. Nothing is
            recorded.
    """
    require(by, "runs:write", workspace_id=schedule.workspace_id)
    subject = f"Test: {schedule.name}"[:200]
    only = [EmailTarget(to=[mail_to], subject=subject)] if mail_to else []
    return _run(schedule, Trigger.TEST, by=by, deliveries=only)


@transaction.atomic
def _run(
    schedule: Schedule,
    cause: Trigger,
    *,
    by: Actor,
    key: str | None = None,
    deliveries: Sequence[Target] | None = None,
) -> UUID:
    locked = Schedule.objects.select_for_update(no_key=True, of=("self",))
    row = locked.select_related("agent", "workspace").get(pk=schedule.pk)
    firing: Firing = start_firing(row, database_now(), cause, key=key, deliveries=deliveries)
    if firing.run_id is None:
        raise ScheduleConflictError(f"The schedule {row.name} cannot run now: {firing.note}")
    verb = "schedule.test" if cause is Trigger.TEST else "schedule.run"
    record_on(by, verb, row, details={"run": str(firing.run_id)})
    return firing.run_id


MOST = 200
_ASKED = "Backfilled: it starts when the firings before it are done."


@transaction.atomic
def backfill_schedule(schedule: Schedule, begin: datetime, end: datetime, *, by: Actor) -> int:
    """Defer the occurrences of a span that have no run; workers start them one by one.

    If the schedule's runs may overlap they start in parallel; while it is paused, none starts.
    Skipped and failed occurrences are included.

    Args:
        schedule: Saved schedule; occurrences before its begin count as well.
        begin: First moment of the span, with a time zone.
        end: Last moment of the span, with a time zone.
        by: Author, for the audit.

    Returns:
        Number of occurrences that will run.

    Raises:
        ScheduleError: The span is not in the past.
        ScheduleConflictError: The span has more than 200 occurrences, or none without a run.
    """
    require(by, "runs:write", workspace_id=schedule.workspace_id)
    locked = Schedule.objects.select_for_update(no_key=True, of=("self",))
    row = locked.select_related("agent", "workspace").get(pk=schedule.pk)
    if not begin <= end <= database_now():
        raise ScheduleError(
            "The span is not in the past, or its end precedes its begin: give a "
            "past begin and a later end."
        )
    held = _hold(row, _slots(row, begin, end))
    if not held:
        raise ScheduleConflictError(
            "There is nothing to backfill: the span has no firings, or each of them has a run."
        )
    details = {"from": begin.isoformat(), "to": end.isoformat(), "slots": held}
    record_on(by, "schedule.backfill", row, details=details)
    return held


def _slots(schedule: Schedule, begin: datetime, end: datetime) -> list[datetime]:
    schedule.begins_at = _earlier(schedule, begin)
    slots = slots_between(schedule, begin, end, MOST + 1)
    if len(slots) > MOST:
        raise ScheduleConflictError(f"The span has more than {MOST} firings: give a shorter span.")
    return slots


def _earlier(schedule: Schedule, begin: datetime) -> datetime:
    """Return a begin that puts occurrences in the span; an interval's times must not shift."""
    if begin >= schedule.begins_at or schedule.every_seconds is None:
        return min(begin, schedule.begins_at)
    interval = timedelta(seconds=schedule.every_seconds)
    return schedule.begins_at + (begin - schedule.begins_at) // interval * interval


def _hold(schedule: Schedule, slots: list[datetime]) -> int:
    known = Firing.objects.filter(schedule=schedule, scheduled_for__in=slots)
    again = known.filter(status__in=[FiringStatus.SKIPPED, FiringStatus.FAILED])
    held = again.update(
        status=FiringStatus.DEFERRED,
        cause=Trigger.BACKFILL,
        note=_ASKED,
        first_deferred_at=None,
        retry_at=None,
    )
    fresh = set(slots) - set(known.values_list("scheduled_for", flat=True))
    Firing.objects.bulk_create(
        Firing(
            schedule=schedule,
            scheduled_for=slot,
            cause=Trigger.BACKFILL,
            status=FiringStatus.DEFERRED,
            note=_ASKED,
        )
        for slot in sorted(fresh)
    )
    return held + len(fresh)
