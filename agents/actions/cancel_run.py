"""Cancel a run and its descendants."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from agents.actions.wake_run import wake_run
from agents.errors import RunNotFoundError
from agents.live.changes import notify_on_commit
from agents.models import Run
from agents.runs.run_audit import record_of_run
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import fetch_one
from heartbit_site.base.rights import require


@transaction.atomic
def cancel_run(workspace: Workspace, run_id: UUID, *, reason: str, by: Actor = SYSTEM) -> None:
    """Cancel a run and its sub-agents' runs: running ones are notified and then end themselves.

    A run that has ended, or whose cancellation was requested before, is left unchanged.

    Raises:
        RunNotFoundError: The workspace has no such run.
    """
    require(by, "runs:write", workspace_id=workspace.pk)
    run = Run.objects.filter(workspace=workspace, pk=run_id).first()
    if run is None:
        raise RunNotFoundError(
            f"There is no run {run_id} in {workspace.slug}: `heartbit status` lists them."
        )
    stops = _lock(run)
    (ring,) = fetch_one("SELECT heartbit_cancel(%s, %s)", [run_id, reason])
    if stops:
        record_of_run(by, "cancel", run, reason=reason)
    wake_run(ring)
    notify_on_commit(workspace.pk, "runs", "calls")


def _lock(run: Run) -> bool:
    """Lock the rows in the SQL function's order; return True if the run can be cancelled."""
    locked = Run.objects.select_for_update(no_key=True).order_by()
    if run.parent_id is not None:
        locked.filter(pk=run.parent_id).values_list("pk").first()
    found = locked.filter(pk=run.pk).values_list("finished_at", "cancel_requested").first()
    return found == (None, False)
