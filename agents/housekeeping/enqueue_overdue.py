"""Fallback for Celery Beat: enqueue system tasks that are overdue."""

from __future__ import annotations

import time
from datetime import timedelta

from django.utils import timezone

from agents.actions.quotas import workspaces_with_notices
from agents.inbound.mailboxes import mailboxes_are_overdue
from heartbit_site.base import queues
from heartbit_site.base.enqueue import TaskMessage, send
from heartbit_site.base.query import fetch_one
from memory.models import Document, KnowledgeBase

#: Several of Beat's intervals: while Beat runs, nothing is that late.
OVERDUE_SECONDS = 30.0
#: Mailboxes are polled less often, one after the other.
UNREAD_SECONDS = 120.0

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
# Each poll stores its time, even if it finds nothing, and then sends the due messages.
_WEBHOOKS = """
SELECT EXISTS (
    SELECT 1 FROM agents_webhookendpoint e
    WHERE e.enabled
      AND greatest(e.last_polled_at, e.events_from)
          < statement_timestamp() - make_interval(secs => %s))
"""


class PendingQuotaNotices:
    """Times at which this process first saw a due notice of a workspace; no row stores them."""

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
        (queues.POLL_MAILBOXES, mailboxes_are_overdue(timezone.now(), UNREAD_SECONDS)),
        (queues.INGEST_DOCUMENTS, documents_are_overdue(OVERDUE_SECONDS)),
        (queues.FOLLOW_FOLDERS, folders_are_overdue(OVERDUE_SECONDS)),
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


def results_are_overdue(seconds: float) -> bool:
    """Return True if a result has been due for more than ``seconds``."""
    return bool(fetch_one(_RESULTS, [seconds])[0])


def webhooks_are_overdue(seconds: float) -> bool:
    """Return True if the last poll of a webhook's events is more than ``seconds`` ago."""
    return bool(fetch_one(_WEBHOOKS, [seconds])[0])
