"""Entries of Celery Beat that belong to Heartbit itself; people's schedules are rows."""

from __future__ import annotations

from heartbit_site.base import queues

HOUSEKEEPING_SECONDS = 3600.0
CHECK_ACCOUNTS_SECONDS = 600.0
DELIVER_WEBHOOKS_SECONDS = 5.0
DELIVER_RESULTS_SECONDS = 5.0
QUOTA_NOTICES_SECONDS = 10.0
POLL_MAILBOXES_SECONDS = 30.0

BEAT_SCHEDULE = {
    "heartbit-housekeeping": {
        "task": queues.HOUSEKEEPING,
        "schedule": HOUSEKEEPING_SECONDS,
        "options": {"queue": queues.SYSTEM},
    },
    "heartbit-check-accounts": {
        "task": queues.CHECK_ACCOUNTS,
        "schedule": CHECK_ACCOUNTS_SECONDS,
        # Expires before the next message, so that messages do not pile up without a worker.
        "options": {"queue": queues.SYSTEM, "expires": CHECK_ACCOUNTS_SECONDS},
    },
    "heartbit-deliver-webhooks": {
        "task": queues.DELIVER_WEBHOOKS,
        "schedule": DELIVER_WEBHOOKS_SECONDS,
        "options": {"queue": queues.SYSTEM, "expires": DELIVER_WEBHOOKS_SECONDS},
    },
    "heartbit-deliver-results": {
        "task": queues.DELIVER_RESULTS,
        "schedule": DELIVER_RESULTS_SECONDS,
        "options": {"queue": queues.SYSTEM, "expires": DELIVER_RESULTS_SECONDS},
    },
    "heartbit-send-quota-notices": {
        "task": queues.SEND_QUOTA_NOTICES,
        "schedule": QUOTA_NOTICES_SECONDS,
        "options": {"queue": queues.SYSTEM, "expires": QUOTA_NOTICES_SECONDS},
    },
    "heartbit-poll-mailboxes": {
        "task": queues.POLL_MAILBOXES,
        "schedule": POLL_MAILBOXES_SECONDS,
        "options": {"queue": queues.SYSTEM, "expires": POLL_MAILBOXES_SECONDS},
    },
}
