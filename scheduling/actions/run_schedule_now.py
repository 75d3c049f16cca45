"""Manual run of a schedule, besides its occurrences."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from agents.runs.idempotency_keys import stored_key
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.rights import require
from scheduling.choices import Trigger
from scheduling.errors import ScheduleConflictError
from scheduling.firings import start_firing
from scheduling.models import Firing, Schedule
from scheduling.querysets import database_now


@transaction.atomic
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
    locked = Schedule.objects.select_for_update(no_key=True, of=("self",))
    row = locked.select_related("agent", "workspace").get(pk=schedule.pk)
    firing: Firing = start_firing(row, database_now(), Trigger.MANUAL, key=key)
    if firing.run_id is None:
        raise ScheduleConflictError(f"The schedule {row.name} cannot run now: {firing.note}")
    record_on(by, "schedule.run", row, details={"run": str(firing.run_id)})
    return firing.run_id
