"""Do a run's task again, from the beginning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from agents.actions.discard_run import discard_run
from agents.actions.fork_run import fork_run
from agents.choices import TERMINAL, Home, RunStatus
from agents.errors import RunStateError

if TYPE_CHECKING:
    from uuid import UUID

    from agents.models import Run


def retry_run(run: Run, *, by: str, home: Home = Home.FLEET) -> UUID:
    """Accept a new run with the same task, on the same version; it says whose task it repeats.

    A quarantined run is discarded with it: that question is settled.

    Returns:
        The new run's id.

    Raises:
        RunStateError: The run has not ended.
        NoLongerOpenError: Somebody settled the quarantine meanwhile.
        AgentNotFoundError: The agent is stopped.
    """
    if run.status not in TERMINAL:
        raise RunStateError(
            f"Run {run.pk} has not ended ({run.status}): cancel it first, or wait for it."
        )
    with transaction.atomic():
        if run.status == RunStatus.QUARANTINED:
            discard_run(run, by=by)
        return fork_run(run, 0, by=by, home=home)
