"""Entries of Celery Beat that belong to Heartbit itself; people's schedules are rows."""

from __future__ import annotations

from heartbit_site.base import queues

HOUSEKEEPING_SECONDS = 3600.0
_SECONDS = {
    "check-accounts": (queues.CHECK_ACCOUNTS, 600.0),
    "deliver-webhooks": (queues.DELIVER_WEBHOOKS, 5.0),
    "deliver-results": (queues.DELIVER_RESULTS, 5.0),
    "cancel-remote-tasks": (queues.CANCEL_REMOTE_TASKS, 5.0),
    "send-task-pushes": (queues.SEND_TASK_PUSHES, 2.0),
    "send-notifications": (queues.SEND_NOTIFICATIONS, 5.0),
    "ask-in-chat": (queues.ASK_IN_CHAT, 2.0),
    "send-quota-notices": (queues.SEND_QUOTA_NOTICES, 10.0),
    "send-alerts": (queues.SEND_ALERTS, 60.0),
    "poll-mailboxes": (queues.POLL_MAILBOXES, 30.0),
    "embed-memories": (queues.EMBED_MEMORIES, 5.0),
    "ingest-documents": (queues.INGEST_DOCUMENTS, 5.0),
    "follow-folders": (queues.FOLLOW_FOLDERS, 60.0),
    "roll-up-figures": (queues.ROLL_UP_FIGURES, 60.0),
    "prune-firings": (queues.PRUNE_FIRINGS, 3600.0),
}

BEAT_SCHEDULE = {
    "heartbit-housekeeping": {
        "task": queues.HOUSEKEEPING,
        "schedule": HOUSEKEEPING_SECONDS,
        "options": {"queue": queues.SYSTEM},
    },
    **{
        f"heartbit-{name}": {
            "task": task,
            "schedule": seconds,
            # Without a worker, messages expire: the next message does the same.
            "options": {"queue": queues.SYSTEM, "expires": seconds},
        }
        for name, (task, seconds) in _SECONDS.items()
    },
}
