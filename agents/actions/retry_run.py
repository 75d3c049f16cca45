"""Start a run's task again from the beginning."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from agents.actions.fork_run import accept_fork
from agents.choices import TERMINAL, Placement, RunStatus
from agents.errors import RunStateError
from agents.models import Run
from agents.runs.run_audit import record_of_run
from agents.runs.sql_functions import call_function
from heartbit_site.base.audit import Actor
from heartbit_site.base.rights import require


def retry_run(run: Run, *, by: Actor, home: Placement = Placement.FLEET) -> UUID:
    """Start a new run with the same task on the same version, linked to the run that it repeats.

    A quarantined run is discarded in the same transaction.

    Returns:
        The new run's id.

    Raises:
        RunStateError: The run has not ended.
        CallClosedError: The quarantine was ended meanwhile.
        AgentNotFoundError: The agent is stopped.
        HaltedError: The workspace or the installation is stopped.
        QuotaExceededError: The workspace or the agent has reached a run quota.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    if run.status not in TERMINAL:
        raise RunStateError(
            f"Run {run.pk} has not ended ({run.status}): cancel it first, or wait for it."
        )
    discarded = run.status == RunStatus.QUARANTINED
    with transaction.atomic():
        if discarded:
            call_function("SELECT heartbit_discard(%s, %s)", [run.pk, by.name])
        accepted = accept_fork(run, 0, by=by, home=home).run_id
        record_of_run(by, "retry", run, run=str(accepted), discarded=discarded)
    return accepted
