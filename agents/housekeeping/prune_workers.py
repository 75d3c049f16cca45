"""Forget worker processes that left long ago."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from agents.models import WorkerHeartbeat

KEEP = timedelta(days=1)


def prune_workers() -> int:
    """Delete heartbeat rows of processes gone for a day; return how many.

    Runs keep their journal, which names the worker; only the process's own row goes.
    """
    deleted, _ = WorkerHeartbeat.objects.filter(left_at__lt=Now() - KEEP).delete()
    return deleted
