"""Remove a schedule and its log; its runs stay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from heartbit_site.base.audit import Actor, record
from scheduling.beat_sync import remove_from_beat

if TYPE_CHECKING:
    from scheduling.models import Schedule


@transaction.atomic
def remove_schedule(schedule: Schedule, *, by: Actor) -> None:
    """Delete it; slots that it holds back never start.

    Args:
        schedule: A saved one.
        by: Who does it, for the audit.
    """
    workspace, target, label = schedule.workspace, f"schedule:{schedule.pk}", schedule.name
    remove_from_beat(schedule)
    schedule.delete()
    record(by, "schedule.remove", workspace=workspace, target=target, label=label)
