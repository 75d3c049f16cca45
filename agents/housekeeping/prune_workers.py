"""Delete the rows of worker processes that have left."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from agents.models import WorkerHeartbeat

KEEP = timedelta(days=1)


def prune_workers() -> int:
    """Delete heartbeat rows of processes gone for a day; return the number of rows.

    Journals that name such a worker stay unchanged.
    """
    deleted, _ = WorkerHeartbeat.objects.filter(left_at__lt=Now() - KEEP).delete()
    return deleted
