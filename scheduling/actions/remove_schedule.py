"""Removal of a schedule with its firings; its runs stay."""

from __future__ import annotations

from django.db import transaction

from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.rights import require
from scheduling.beat_sync import remove_from_beat
from scheduling.models import Schedule


@transaction.atomic
def remove_schedule(schedule: Schedule, *, by: Actor) -> None:
    """Delete a schedule; its deferred firings never start.

    Args:
        schedule: Saved schedule.
        by: Author, for the audit.
    """
    require(by, "agents:write", workspace_id=schedule.workspace_id)
    remove_from_beat(schedule)
    Schedule.objects.filter(pk=schedule.pk).delete()
    record_on(by, "schedule.remove", schedule)
