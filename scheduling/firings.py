"""Firings: occurrences and their runs, started now or deferred for a day.

An obstacle affects all occurrences of a schedule alike, so only the first one is tried; those after
it wait with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Coalesce

from agents.actions.admit import admit
from agents.actions.run_request import RunRequest, call_of, start_conversation
from agents.choices import BusyPolicy, RunKind
from agents.delivery.targets import Target, read_targets
from agents.models import Conversation, Run
from agents.output.payload import TaskPayload, parse
from agents.runs.idempotency_keys import InternalKey
from heartbit_site.base.audit import BY_SCHEDULE, Actor
from heartbit_site.base.errors import HeartbitError
from scheduling.choices import CatchUp, FiringStatus, Overlap, TaskType, Trigger
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from scheduling.occurrences import MOST, elapsed_occurrences
from scheduling.querysets import database_now, has_running_test
from scheduling.recurrence import format_time, time_zone
from scheduling.slot_decisions import decide, is_transient
from scheduling.spec import RhythmSpec

#: The pause before a retry equals the time waited so far, within these bounds.
SHORTEST = timedelta(minutes=1)
LONGEST = timedelta(hours=1)
GIVEN_UP = timedelta(days=1)
_NOTE = 300
#: Firings that are not retried: the person who started one reads why there is no run.
_BY_HAND = (Trigger.MANUAL, Trigger.TEST)
_STATUSES: Final = {
    "start": FiringStatus.STARTED,
    "skip": FiringStatus.SKIPPED,
    "wait": FiringStatus.DEFERRED,
}
_AGAIN = "Retried for a day: "
_BEHIND = "It waits for earlier firings, which could not start yet."
_REPLACED = "It could not start before the next firing: "


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


def has_running_run(schedule: Schedule) -> bool:
    """Return True if a run of the schedule, or of its test, has not ended.

    The schedule's row is locked.
    """
    theirs = Firing.objects.filter(schedule=schedule)
    rows = theirs.filter(status=FiringStatus.STARTED, run_ended=False)
    live = Run.objects.filter(pk=OuterRef("run_id"), finished_at__isnull=True)
    rows.filter(~Exists(live)).update(run_ended=True)
    tested = Q(has_running_test(), status=FiringStatus.DEFERRED) if schedule.test else Q(pk__in=[])
    return theirs.filter(Q(status=FiringStatus.STARTED, run_ended=False) | tested).exists()


def record_firing(schedule: Schedule, slot: datetime, status: FiringStatus, why: str) -> None:
    """Record the status of an occurrence, unless it has a row already."""
    Firing.objects.bulk_create(
        [Firing(schedule=schedule, scheduled_for=slot, status=status, note=why[:_NOTE])],
        ignore_conflicts=True,
    )


def start_firing(
    schedule: Schedule,
    slot: datetime,
    cause: Trigger,
    *,
    key: str | None = None,
    deliveries: Sequence[Target] | None = None,
) -> Firing:
    """Start the run of an occurrence if its test agrees, in the caller's transaction.

    The schedule's row is locked. An obstacle (the agent was removed, a quota is reached) is stored
    in the firing. If the obstacle may pass and the firing is not manual, the firing is deferred and
    retried.

    Args:
        schedule: Schedule of the occurrence.
        slot: Time of the occurrence.
        cause: Reason for the firing.
        key: Idempotency key of the run; None: one derived from the occurrence.
        deliveries: Targets of the result instead of the schedule's own; None: the schedule's.

    Returns:
        The firing; unchanged if it was started before.
    """
    firing = Firing.objects.filter(schedule=schedule, scheduled_for=slot).first()
    if firing is not None and firing.status == FiringStatus.STARTED:
        return firing
    firing = firing or Firing(schedule=schedule, scheduled_for=slot, cause=cause)
    try:
        with transaction.atomic():
            decision = decide(schedule, firing)
            if decision.verdict == "start":
                firing.run_id = _start(schedule, slot, key, deliveries)
        firing.status, firing.note = _STATUSES[decision.verdict], decision.note[:_NOTE]
        firing.first_deferred_at = firing.retry_at = None
        clear_deferrals(schedule)
    except HeartbitError as error:
        defer_or_fail(
            firing, error, for_now=cause not in _BY_HAND and is_transient(error, schedule)
        )
    firing.save()
    return firing


def _start(
    schedule: Schedule, slot: datetime, key: str | None, deliveries: Sequence[Target] | None
) -> UUID:
    is_call = schedule.task_type == TaskType.TOOL_CALL
    request = RunRequest(
        schedule.workspace,
        "" if is_call else _task(schedule, slot),
        agent=schedule.agent.name,
        call=call_of(schedule.tool, schedule.arguments) if is_call else None,
        payload=_payload(schedule),
        conversation=_thread(schedule) if schedule.task_type == TaskType.MESSAGE else None,
        # A run of its own: a steered run would deliver to its own recipients.
        busy_policy=BusyPolicy.QUEUE,
        approve=schedule.require_approval,
        review=schedule.review,
        hops=schedule.hops,
        # To the microsecond: a manual run in the same second is not the occurrence's run.
        idempotency_key=key
        or InternalKey(f"schedule:{schedule.pk}:{slot.astimezone(UTC).isoformat()}"),
        by=Actor(f"{BY_SCHEDULE}{schedule.name}", "system"),
        # A target that is gone, such as a removed webhook, fails its delivery and not the run.
        deliveries=read_targets(schedule.deliver) if deliveries is None else deliveries,
    )
    return admit(request).run_id


def _payload(schedule: Schedule) -> TaskPayload | None:
    is_long = schedule.task_type == TaskType.TASK and schedule.input
    return parse(schedule.input) if is_long else None


def _thread(schedule: Schedule) -> Conversation:
    """Return the schedule's conversation, which the first firing creates."""
    found = None
    if schedule.conversation_id is not None:
        found = Conversation.objects.filter(pk=schedule.conversation_id).first()
    if found is None:
        found = start_conversation(
            schedule.workspace, agent=schedule.agent.name, title=schedule.name
        )
        schedule.conversation_id = found.pk
        schedule.save(update_fields=["conversation_id"])
    return found


def _task(schedule: Schedule, slot: datetime) -> str:
    """Return the task with its time, because a model does not know the date.

    The task of a workflow stays as it is: it may be data.
    """
    if schedule.task_type == TaskType.WORKFLOW:
        return json.dumps(schedule.input, ensure_ascii=False)
    if schedule.agent.kind != RunKind.AGENT:
        return schedule.task
    zone = time_zone(schedule.time_zone)
    when = format_time(slot, zone, seconds=schedule.has_seconds)
    return f"{schedule.task}\n\n(Scheduled for {when}.)".strip()


#: Columns that define a schedule's occurrences.
RHYTHM = ("kind", *RhythmSpec.model_fields)
_CHANGED = "The schedule's recurrence was changed before this firing was processed."
_PAUSED = "The schedule was paused before this firing was processed."


def changes_next_occurrence(
    before: Schedule, after: Schedule, changed: Collection[str], now: datetime
) -> bool:
    """Return True if an edit changes the next occurrence.

    Args:
        before: Row as stored.
        after: Row as edited.
        changed: Columns in which the two differ.
        now: Time of the database.
    """
    concerned = {*RHYTHM, "enabled"} & set(changed)
    if concerned == {"ends_at"}:
        return not _only_ends_later_or_earlier(before, after, now)
    return bool(concerned)


def _only_ends_later_or_earlier(before: Schedule, after: Schedule, now: datetime) -> bool:
    """Return True if the new end changes neither past occurrences nor the next one."""
    slot = before.next_occurrence
    ends = [one.ends_at for one in (before, after) if one.ends_at is not None]
    return slot is not None and all(end > now and end >= slot for end in ends)


def skip_unprocessed(before: Schedule, after: Schedule, now: datetime) -> None:
    """Record the elapsed occurrences that were not processed as skipped.

    There may be many if no worker was running for long, or if they wait for their jitter. They are
    skipped because the edit has just withdrawn their work.
    """
    try:
        come = elapsed_occurrences(before, now)
    except ScheduleError:  # the edit repairs a recurrence that was not valid
        return
    for slot in come:
        record_firing(after, slot, FiringStatus.SKIPPED, _CHANGED if after.enabled else _PAUSED)
