"""Cancel a run and everything below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connection

from agents.actions.ring_run import ring_run
from agents.errors import RunNotFoundError
from agents.models import Run

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace


def cancel_run(workspace: Workspace, run_id: UUID, *, reason: str) -> None:
    """Queued and waiting runs end here and now; running ones are told and end themselves.

    A run that has ended already is left as it is.

    Raises:
        RunNotFoundError: The workspace has no such run.
    """
    if not Run.objects.filter(workspace=workspace, pk=run_id).exists():
        raise RunNotFoundError(
            f"There is no run {run_id} in {workspace.slug}: `heartbit status` lists them."
        )
    with connection.cursor() as cursor:  # one statement, so atomic by itself
        cursor.execute("SELECT heartbit_cancel(%s, %s)", [run_id, reason])
        ring: UUID | None = cursor.fetchone()[0]
    ring_run(ring)
