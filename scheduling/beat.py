"""Celery Beat entries for the upkeep of schedules; people's schedules are rows."""

from __future__ import annotations

from heartbit_site.base import queues

PRUNE_FIRINGS_SECONDS = 3600.0

BEAT_SCHEDULE = {
    "heartbit-prune-firings": {
        "task": queues.PRUNE_FIRINGS,
        "schedule": PRUNE_FIRINGS_SECONDS,
        # Expired messages are not missed: the next one deletes the same rows.
        "options": {"queue": queues.SYSTEM, "expires": PRUNE_FIRINGS_SECONDS},
    },
}
