"""What Celery Beat rings for Heartbit itself. People's schedules are rows, not entries here."""

from __future__ import annotations

from heartbit_site.base import queues

HOUSEKEEPING_SECONDS = 3600.0

BEAT_SCHEDULE = {
    "heartbit-housekeeping": {
        "task": queues.HOUSEKEEPING,
        "schedule": HOUSEKEEPING_SECONDS,
        "options": {"queue": queues.SYSTEM},
    }
}
