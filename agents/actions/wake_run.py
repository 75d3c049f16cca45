"""Wake the workers of a run after the transaction that made the run claimable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction

from agents.choices import Placement
from agents.models import Run
from agents.runs import wake_messages

if TYPE_CHECKING:
    from uuid import UUID


def wake_run(run_id: UUID | None) -> None:
    """Wake the run that an SQL function returned, if any.

    A local run's process is notified by NOTIFY instead.
    """
    if run_id is None:
        return
    for queue in Run.objects.filter(pk=run_id, home=Placement.FLEET).values_list(
        "queue", flat=True
    ):
        wake_queue(run_id, queue)


def wake_queue(run_id: UUID, queue: str) -> None:
    """Wake the queue's workers after the commit, to claim a run of the fleet."""
    transaction.on_commit(partial(wake_messages.wake_run, run_id, queue=queue))
