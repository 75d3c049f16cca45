"""Let a quarantined run go on where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import DatabaseError, connection

from agents.actions.ring_run import ring_run
from agents.runs.refusals import refusal

if TYPE_CHECKING:
    from uuid import UUID

    from agents.models import Run


def revive_run(run: Run, *, by: str) -> None:
    """Queue it again; it is tried alone, in a process where it can harm no other run.

    Raises:
        NoLongerOpenError: It is not in quarantine (any more), or who waited for it has gone on.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT heartbit_revive(%s, %s)", [run.pk, by])
            ring: UUID | None = cursor.fetchone()[0]
    except DatabaseError as error:
        raise refusal(error) from error
    ring_run(ring)
