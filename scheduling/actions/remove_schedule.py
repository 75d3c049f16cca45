"""Removal of a schedule with its firings; its runs stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from heartbit_site.base.audit import Actor, record
from scheduling.beat_sync import remove_from_beat

if TYPE_CHECKING:
    from scheduling.models import Schedule


@transaction.atomic
def remove_schedule(schedule: Schedule, *, by: Actor) -> None:
    """Delete a schedule; its deferred firings never start.

    Args:
        schedule: Saved schedule.
        by: Author, for the audit.
    """
    workspace, target, label = schedule.workspace, f"schedule:{schedule.pk}", schedule.name
    remove_from_beat(schedule)
    schedule.delete()
    record(by, "schedule.remove", workspace=workspace, target=target, label=label)
