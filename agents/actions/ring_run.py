"""Ring a run that the journal's functions returned to be rung, once its transaction is durable."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction

from agents import dispatch
from agents.choices import Home
from agents.models import Run

if TYPE_CHECKING:
    from uuid import UUID


def ring_run(run_id: UUID | None) -> None:
    """Tell the run's queue after the commit; a local run's own process hears of it by NOTIFY."""
    if run_id is None:
        return
    for queue in Run.objects.filter(pk=run_id, home=Home.FLEET).values_list("queue", flat=True):
        transaction.on_commit(partial(dispatch.ring, run_id, queue=queue))
