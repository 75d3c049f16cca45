"""The fleet's workers, by their heartbeats."""

from __future__ import annotations

from agents.models import WorkerHeartbeat


def alive(queue: str = "") -> list[WorkerHeartbeat]:
    """Fleet workers that beat within their lease; only those of a queue, if one is given."""
    return list(WorkerHeartbeat.objects.serving(queue))
