"""Ring a run once the transaction that made it claimable is durable."""

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
    """Ring what a function of the journal's returned to be rung; None is nothing.

    A local run's own process hears of it by NOTIFY.
    """
    if run_id is None:
        return
    for queue in Run.objects.filter(pk=run_id, home=Placement.FLEET).values_list(
        "queue", flat=True
    ):
        wake_queue(run_id, queue)


def wake_queue(run_id: UUID, queue: str) -> None:
    """Tell the queue's workers after the commit to look at a run of the fleet."""
    transaction.on_commit(partial(wake_messages.wake_run, run_id, queue=queue))
