"""Let a run's own process execute its follow-up."""

from __future__ import annotations

from uuid import UUID

from agents.choices import Placement, RunStatus
from agents.models import Run


def take_follow_up(source_id: UUID) -> UUID | None:
    """Make the run that follows a run local, and return it; None: there is none to take.

    Args:
        source_id: The local run that has ended.
    """
    rows = Run.objects.filter(extraction__source=source_id)
    waiting = rows.filter(home=Placement.FLEET, status=RunStatus.QUEUED)
    if not waiting.update(home=Placement.LOCAL):
        return None
    found: UUID = rows.values_list("pk", flat=True).get()
    return found
