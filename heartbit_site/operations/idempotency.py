"""Repeated requests: an idempotency key always returns the same run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.models import Run
from agents.runs.idempotency_keys import stored_key
from heartbit_site.base.query import execute

if TYPE_CHECKING:
    from uuid import UUID

    from heartbit_site.base.models import Workspace


def run_with(workspace: Workspace, key: str | None) -> UUID | None:
    """Return the run that a key has started, or None.

    Requests with the same key are serialised until the caller's transaction ends.

    Raises:
        ReservedKeyError: The key begins with a reserved prefix.
    """
    if not stored_key(key):
        return None
    execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, %s))", [key, workspace.pk])
    rows = Run.objects.filter(workspace=workspace, idempotency_key=key)
    return rows.values_list("pk", flat=True).first()
