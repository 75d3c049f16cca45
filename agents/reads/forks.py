"""Forks of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.journal.events import RunForked
from agents.models import RunEvent

if TYPE_CHECKING:
    from uuid import UUID

MAX_SHOWN = 20


def forks_of(run_id: UUID) -> list[tuple[UUID, int]]:
    """Return the newest forks of a run, each with the last turn that was copied."""
    found = RunEvent.objects.filter(
        run__forked_from=run_id, type=RunForked.type, payload__source=str(run_id)
    )
    rows = found.order_by("-run_id").values_list("run_id", "payload__turn")
    return list(rows[:MAX_SHOWN])
