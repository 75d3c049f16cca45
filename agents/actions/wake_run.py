"""Wake the workers of a run after the transaction that made the run claimable."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from django.db import transaction

from agents.choices import Placement
from agents.models import Run
from agents.runs import wake_messages
from heartbit_site.base.query import fetch_all


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


def wake_released(query: str, values: Sequence[object]) -> None:
    """Wake the queues of the runs that an SQL function makes claimable.

    Args:
        query: A query of the function's rows: the run, and its queue.
        values: The function's arguments.
    """
    for run_id, queue in fetch_all(query, values):
        wake_queue(run_id, queue)
