"""Run a schedule once, now, beside its slots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from agents.runs.idempotency_keys import stored_key
from heartbit_site.base.audit import Actor, record
from scheduling.choices import FiringStatus, Trigger
from scheduling.errors import ScheduleConflictError
from scheduling.firings import start_firing
from scheduling.models import Firing, Schedule
from scheduling.querysets import database_now

if TYPE_CHECKING:
    from uuid import UUID


@transaction.atomic
def run_schedule_now(schedule: Schedule, *, by: Actor, key: str | None = None) -> UUID:
    """Start its run as a slot would, whether it is paused or not; its slots stay as they are.

    Args:
        schedule: A saved one.
        by: Who does it, for the audit.
        key: The run's idempotency key; None: it has one of its own.

    Returns:
        The run's id.

    Raises:
        ReservedKeyError: The key begins as Heartbit's own do.
        ScheduleConflictError: No run can be started; the sentence says why. Nothing is noted.
    """
    stored_key(key)
    locked = Schedule.objects.select_for_update(no_key=True, of=("self",))
    row = locked.select_related("agent", "workspace").get(pk=schedule.pk)
    firing: Firing = start_firing(row, database_now(), Trigger.MANUAL, key=key)
    if firing.status != FiringStatus.STARTED or firing.run_id is None:
        raise ScheduleConflictError(f"The schedule {row.name} cannot run now: {firing.note}")
    record(
        by,
        "schedule.run",
        workspace=row.workspace,
        target=f"schedule:{row.pk}",
        label=row.name,
        details={"run": str(firing.run_id)},
    )
    return firing.run_id
