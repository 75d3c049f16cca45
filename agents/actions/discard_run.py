"""Discard a quarantined run."""

from __future__ import annotations

from django.db import transaction

from agents.live.changes import notify_on_commit
from agents.models import Run
from agents.runs.run_audit import record_of_run
from agents.runs.sql_functions import call_function
from heartbit_site.base.audit import Actor
from heartbit_site.base.rights import require


@transaction.atomic
def discard_run(run: Run, *, by: Actor) -> None:
    """Cancel a quarantined run, so that it needs no further attention; its journal stays.

    Raises:
        CallClosedError: The run is not in quarantine.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    call_function("SELECT heartbit_discard(%s, %s)", [run.pk, by.name])
    record_of_run(by, "discard", run)
    notify_on_commit(run.workspace_id, "runs")
