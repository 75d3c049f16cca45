"""Fallback for Celery Beat: a thread in each worker process that enqueues overdue tasks.

The thread fires due schedules, and enqueues overdue deliveries, mailbox polls, quota notices, alert
rules and documents to be read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from agents.actions.quotas import workspaces_with_notices
from agents.choices import DeliveryStatus
from agents.inbound.channels import mailboxes_are_overdue
from agents.models import ChatApp, NotifiedBrowser
from heartbit_site.base import queues
from heartbit_site.base.enqueue import TaskMessage, send
from heartbit_site.base.models import AlertState
from heartbit_site.base.query import fetch_one
from memory.models import Document, KnowledgeBase

logger = logging.getLogger(__name__)

#: Several of Beat's intervals: while Beat runs, no task is this late.
OVERDUE_SECONDS = 30.0
#: Mailboxes are polled less often, one after the other.
UNREAD_SECONDS = 120.0
ALERTS_SECONDS = 180.0

# Pending rows are few, and each query has a partial index of them.
# Deliveries of runs that have not ended, or handed to a pending webhook message, are not overdue.
_RESULTS = """
SELECT EXISTS (
    SELECT 1 FROM agents_delivery d LEFT JOIN agents_run r ON r.id = d.run_id
    WHERE d.status = 'pending' AND d.next_at < before.moment
      AND (r.id IS NULL OR r.finished_at < before.moment)
      AND NOT EXISTS (SELECT 1 FROM agents_webhookdelivery w
                      WHERE d.message_id <> '' AND w.message_id = d.message_id
                        AND w.status = 'pending'))
FROM (SELECT statement_timestamp() - make_interval(secs => %s) AS moment) before
"""
_PUSHES = """
SELECT EXISTS (
    SELECT 1 FROM agents_taskpush p JOIN agents_run r ON r.id = p.run_id
    WHERE p.status = 'pending' AND p.next_at < statement_timestamp() - make_interval(secs => %s)
      AND r.finished_at < statement_timestamp() - make_interval(secs => %s))
"""
_REMOTE_TASKS = """
SELECT EXISTS (
    SELECT 1 FROM tools_remoteagenttask t JOIN agents_run r ON r.id = t.run_id
    WHERE t.next_at < statement_timestamp() - make_interval(secs => %s)
      AND r.finished_at < statement_timestamp() - make_interval(secs => %s))
"""
# Each poll stores its time, even if it finds nothing, and then sends the due messages.
_WEBHOOKS = """
SELECT EXISTS (
    SELECT 1 FROM agents_webhookendpoint e
    WHERE e.enabled
      AND greatest(e.last_polled_at, e.events_from)
          < statement_timestamp() - make_interval(secs => %s))
"""


class PendingQuotaNotices:
    """Times at which this process first saw a due notice of a workspace, which no row stores."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def are_overdue(self, seconds: float, *, now: float) -> bool:
        """Update the record; return True if a notice has been due for more than ``seconds``.

        ``now`` is the time of a monotonic clock.
        """
        self._since = {one: self._since.get(one, now) for one in workspaces_with_notices()}
        return any(now - since > seconds for since in self._since.values())


def enqueue_overdue(notices: PendingQuotaNotices) -> tuple[str, ...]:
    """Enqueue the tasks of the queue ``system`` that are overdue; return their names.

    Safe to run concurrently: a delivery is claimed before it is sent.

    Args:
        notices: Pending quota notices of this process, which calls this repeatedly.
    """
    found = (
        (queues.DELIVER_WEBHOOKS, webhooks_are_overdue(OVERDUE_SECONDS)),
        (queues.DELIVER_RESULTS, results_are_overdue(OVERDUE_SECONDS)),
        (queues.SEND_TASK_PUSHES, pushes_are_overdue(OVERDUE_SECONDS)),
        (queues.SEND_NOTIFICATIONS, notifications_are_overdue(OVERDUE_SECONDS)),
        (queues.ASK_IN_CHAT, chat_is_overdue(OVERDUE_SECONDS)),
        (queues.CANCEL_REMOTE_TASKS, remote_tasks_are_overdue(OVERDUE_SECONDS)),
        (queues.POLL_MAILBOXES, mailboxes_are_overdue(timezone.now(), UNREAD_SECONDS)),
        (queues.INGEST_DOCUMENTS, documents_are_overdue(OVERDUE_SECONDS)),
        (queues.FOLLOW_FOLDERS, folders_are_overdue(OVERDUE_SECONDS)),
        (queues.SEND_ALERTS, alerts_are_overdue(ALERTS_SECONDS)),
        (queues.SEND_QUOTA_NOTICES, notices.are_overdue(OVERDUE_SECONDS, now=time.monotonic())),
    )
    overdue = tuple(task for task, is_overdue in found if is_overdue)
    for task in overdue:
        # Expires, so that messages do not pile up without a worker; a later call sends another.
        send(TaskMessage(task, "", queues.SYSTEM, seconds=OVERDUE_SECONDS))
    return overdue


def documents_are_overdue(seconds: float) -> bool:
    """Return True if a document has waited to be read for more than ``seconds``."""
    late = timezone.now() - timedelta(seconds=seconds)
    return bool(Document.objects.claimable().filter(touched_at__lt=late).exists())


def folders_are_overdue(seconds: float) -> bool:
    """Return True if a folder of the drive was asked for more than ``seconds`` ago."""
    late = timezone.now() - timedelta(seconds=seconds)
    return KnowledgeBase.objects.filter(drive_requested_at__lt=late).exists()


def alerts_are_overdue(seconds: float) -> bool:
    """Return True if the alert rules were not evaluated for more than ``seconds``.

    Of a new installation the first call begins the time.
    """
    now = timezone.now()
    at = AlertState.objects.values_list("evaluated_at", flat=True).first()
    if at is None:
        AlertState.objects.update_or_create(pk=1, defaults={"evaluated_at": now})
        return False
    return at < now - timedelta(seconds=seconds)


def results_are_overdue(seconds: float) -> bool:
    """Return True if a result has been due for more than ``seconds``."""
    return bool(fetch_one(_RESULTS, [seconds])[0])


def pushes_are_overdue(seconds: float) -> bool:
    """Return True if a receiver has waited for the last state of its task for ``seconds``."""
    return bool(fetch_one(_PUSHES, [seconds, seconds])[0])


def notifications_are_overdue(seconds: float) -> bool:
    """Return True if a browser's notification has been due for more than ``seconds``."""
    late = timezone.now() - timedelta(seconds=seconds)
    due = NotifiedBrowser.objects.filter(status=DeliveryStatus.PENDING, next_at__lt=late)
    return due.exists()


def chat_is_overdue(seconds: float) -> bool:
    """Return True if a chat app was last looked after more than ``seconds`` ago."""
    late = timezone.now() - timedelta(seconds=seconds)
    return ChatApp.objects.filter(enabled=True, last_polled_at__lt=late).exists()


def remote_tasks_are_overdue(seconds: float) -> bool:
    """Return True if a task of a remote agent should have been cancelled ``seconds`` ago."""
    return bool(fetch_one(_REMOTE_TASKS, [seconds, seconds])[0])


def webhooks_are_overdue(seconds: float) -> bool:
    """Return True if the last poll of a webhook's events is more than ``seconds`` ago."""
    return bool(fetch_one(_WEBHOOKS, [seconds])[0])


TICK_SECONDS = 1.0
OVERDUE_TICK_SECONDS = 5.0
RUNG_SECONDS = 15.0  # time for a worker to do the enqueued tasks before the next check


class SchedulerThread(threading.Thread):
    """Thread that checks every second until stopped; safe to run in many processes."""

    def __init__(self, fire_due: Callable[[], int]) -> None:
        """Prepare the thread.

        Args:
            fire_due: Fires due schedules; returns their number, 0 when none is left.
        """
        super().__init__(name="clock", daemon=True)
        self._fire_due = fire_due
        self._over = threading.Event()
        self._look_for_overdue_at = 0.0
        self._notices = PendingQuotaNotices()

    def stop(self) -> None:
        """Stop after the current check."""
        self._over.set()
        if self.is_alive():
            self.join(timeout=10)

    def run(self) -> None:
        """Check every second until stopped."""
        while not self._over.wait(TICK_SECONDS):
            try:
                while self._fire_due() and not self._over.is_set():
                    pass  # more schedules may be due than are fired in one call
                self._enqueue_overdue()
            except Exception:  # the thread must survive any failure
                logger.exception("the scheduler thread failed; trying again")
                connection.close()
        connection.close()

    def _enqueue_overdue(self) -> None:
        now = time.monotonic()
        if now < self._look_for_overdue_at:
            return
        # Set first, so that a failing check is not repeated after a second.
        self._look_for_overdue_at = now + OVERDUE_TICK_SECONDS
        enqueued = enqueue_overdue(self._notices)
        if enqueued:
            self._look_for_overdue_at = now + RUNG_SECONDS
            logger.info("%s overdue: is Celery Beat running?", ", ".join(enqueued))
