"""Firings: occurrences and their runs."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING

from django.db import transaction
from django.db.models import Exists, OuterRef

from agents.actions.create_deliveries import create_deliveries
from agents.actions.post_message import post_message, start_conversation
from agents.actions.start_run import start_run
from agents.actions.start_tool_call import start_tool_call
from agents.choices import BusyPolicy
from agents.delivery.targets import read_targets
from agents.models import Conversation, Run
from agents.runs.idempotency_keys import InternalKey
from heartbit_site.base.audit import BY_SCHEDULE, Actor
from heartbit_site.base.errors import HeartbitError
from scheduling.choices import FiringStatus, TaskType, Trigger
from scheduling.deferral import clear_deferrals, defer_or_fail, is_transient
from scheduling.models import Firing
from scheduling.recurrence import format_time, time_zone

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from scheduling.models import Schedule

_NOTE = 300


def has_running_run(schedule: Schedule) -> bool:
    """Return True if a run of the schedule has not ended; the schedule's row is locked."""
    rows = Firing.objects.filter(schedule=schedule, status=FiringStatus.STARTED, run_ended=False)
    live = Run.objects.filter(pk=OuterRef("run_id"), finished_at__isnull=True)
    rows.filter(~Exists(live)).update(run_ended=True)
    return rows.exists()


def record_firing(schedule: Schedule, slot: datetime, status: FiringStatus, why: str) -> None:
    """Record the status of an occurrence, unless it has a row already."""
    Firing.objects.bulk_create(
        [Firing(schedule=schedule, scheduled_for=slot, status=status, note=why[:_NOTE])],
        ignore_conflicts=True,
    )


def start_firing(
    schedule: Schedule, slot: datetime, cause: Trigger, *, key: str | None = None
) -> Firing:
    """Start the run of an occurrence, in the caller's transaction.

    The schedule's row is locked. An obstacle (the agent is gone, a quota is spent) is noted in the
    firing. If it may pass, and the firing is not manual, the firing is deferred and retried.

    Args:
        schedule: Schedule of the occurrence.
        slot: Time of the occurrence.
        cause: Reason for the firing.
        key: Idempotency key of the run; None: one derived from the occurrence.

    Returns:
        The firing; unchanged if it was started before.
    """
    firing = Firing.objects.filter(schedule=schedule, scheduled_for=slot).first()
    if firing is not None and firing.status == FiringStatus.STARTED:
        return firing
    firing = firing or Firing(schedule=schedule, scheduled_for=slot, cause=cause)
    try:
        with transaction.atomic():
            firing.run_id = _start(schedule, slot, key)
        firing.status, firing.note = FiringStatus.STARTED, ""
        firing.first_deferred_at = firing.retry_at = None
        clear_deferrals(schedule)
    except HeartbitError as error:
        defer_or_fail(
            firing, error, for_now=cause is not Trigger.MANUAL and is_transient(error, schedule)
        )
    firing.save()
    return firing


def _start(schedule: Schedule, slot: datetime, key: str | None) -> UUID:
    # To the microsecond: a manual run in the same second is not the occurrence's run.
    name = key or InternalKey(f"schedule:{schedule.pk}:{slot.astimezone(UTC).isoformat()}")
    by = Actor(f"{BY_SCHEDULE}{schedule.name}", "system")
    match schedule.task_type:
        case TaskType.MESSAGE:
            run_id = _post(schedule, _task(schedule, slot), name, by)
        case TaskType.TOOL_CALL:
            run_id = start_tool_call(
                schedule.workspace,
                schedule.tool,
                schedule.arguments,
                agent=schedule.agent.name,
                idempotency_key=name,
                approve=schedule.require_approval,
                by=by,
                hops=schedule.hops,
            )
        case _:
            run_id = start_run(
                schedule.workspace,
                _task(schedule, slot),
                agent=schedule.agent.name,
                idempotency_key=name,
                approve=schedule.require_approval,
                by=by,
                hops=schedule.hops,
            )
    # A target that is gone, such as a removed webhook, fails its delivery and not the run.
    create_deliveries(run_id, schedule.workspace, read_targets(schedule.deliver))
    return run_id


def _post(schedule: Schedule, text: str, key: str | InternalKey, by: Actor) -> UUID:
    """Post the task on the schedule's conversation, which the first firing creates."""
    conversation = None
    if schedule.conversation_id is not None:
        rows = Conversation.objects.select_related("workspace")
        conversation = rows.filter(pk=schedule.conversation_id).first()
    if conversation is None:
        conversation = start_conversation(
            schedule.workspace, agent=schedule.agent.name, title=schedule.name
        )
        schedule.conversation_id = conversation.pk
        schedule.save(update_fields=["conversation_id"])
    posted = post_message(
        conversation,
        text,
        by=by,
        idempotency_key=key,
        # A run of its own: a steered run would deliver to its own recipients.
        busy_policy=BusyPolicy.QUEUE,
        approve=schedule.require_approval,
        hops=schedule.hops,
    )
    return posted.run_id


def _task(schedule: Schedule, slot: datetime) -> str:
    """Return the task with its time, because a model does not know the date."""
    when = format_time(slot, time_zone(schedule.time_zone))
    return f"{schedule.task}\n\n(Scheduled for {when}.)"
