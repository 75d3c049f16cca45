"""The fleet's workers, by their heartbeats."""

from __future__ import annotations

from agents.models import WorkerHeartbeat


def alive() -> list[WorkerHeartbeat]:
    """Return the fleet workers that beat within their lease."""
    return list(WorkerHeartbeat.objects.serving())
