"""Requests that are sent again: an idempotency key gives the same run, however often it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import Run
from agents.runs.idempotency_keys import stored_key
from heartbit_site.base.query import execute

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace


def run_with(workspace: Workspace, key: str | None) -> UUID | None:
    """Return the run that a key has started, if there is one.

    Requests with the same key come here one after the other, until the caller's transaction ends.

    Raises:
        ReservedKeyError: The key begins as Heartbit's own do.
    """
    if not stored_key(key):
        return None
    execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, %s))", [key, workspace.pk])
    rows = Run.objects.filter(workspace=workspace, idempotency_key=key)
    return rows.values_list("pk", flat=True).first()
