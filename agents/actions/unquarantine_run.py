"""Take a run out of quarantine and continue it."""

from __future__ import annotations

from django.db import transaction

from agents.actions.wake_run import wake_run
from agents.live.changes import notify_on_commit
from agents.models import Run
from agents.runs.run_audit import record_of_run
from agents.runs.sql_functions import call_function
from heartbit_site.base.audit import Actor
from heartbit_site.base.rights import require


@transaction.atomic
def unquarantine_run(run: Run, *, by: Actor) -> None:
    """Requeue a quarantined run; it is tried in an isolated process, apart from other runs.

    Raises:
        CallClosedError: The run is not in quarantine, or its parent has gone on without it.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    ring = call_function("SELECT heartbit_revive(%s, %s)", [run.pk, by.name])
    record_of_run(by, "resume", run)
    wake_run(ring)
    notify_on_commit(run.workspace_id, "runs")
