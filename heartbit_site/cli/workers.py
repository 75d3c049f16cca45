"""The fleet's workers, by their heartbeats."""

from __future__ import annotations

from agents.choices import Home
from agents.models import WorkerHeartbeat


def alive(queue: str = "") -> list[WorkerHeartbeat]:
    """Fleet workers that beat within their lease; only those of a queue, if one is given."""
    found = WorkerHeartbeat.objects.filter(home=Home.FLEET, gone_at__isnull=True).extra(
        where=["beat_at > clock_timestamp() - make_interval(secs => lease_seconds)"]
    )
    return list(found.filter(queues__contains=[queue]) if queue else found)
