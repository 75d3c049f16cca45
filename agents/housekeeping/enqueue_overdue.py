"""Fallback for Celery Beat: enqueue system tasks that are overdue."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from django.utils import timezone

from agents.delivery.overdue import results_are_overdue, webhooks_are_overdue
from agents.inbound.mailboxes import mailboxes_are_overdue
from heartbit_site.base import queues
from heartbit_site.base.enqueue import TaskMessage, send

if TYPE_CHECKING:
    from agents.housekeeping.pending_quota_notices import PendingQuotaNotices

#: Several of Beat's intervals: while Beat runs, nothing is that late.
OVERDUE_SECONDS = 30.0
#: Mailboxes are polled less often, one after the other.
UNREAD_SECONDS = 120.0


def enqueue_overdue(untold: PendingQuotaNotices) -> tuple[str, ...]:
    """Enqueue the tasks of the queue ``system`` that are overdue; return their names.

    Safe to run concurrently: a delivery is claimed before it is sent.

    Args:
        untold: Pending quota notices of this process, which calls this repeatedly.
    """
    found = (
        (queues.DELIVER_WEBHOOKS, webhooks_are_overdue(OVERDUE_SECONDS)),
        (queues.DELIVER_RESULTS, results_are_overdue(OVERDUE_SECONDS)),
        (queues.POLL_MAILBOXES, mailboxes_are_overdue(timezone.now(), UNREAD_SECONDS)),
        (queues.SEND_QUOTA_NOTICES, untold.are_overdue(OVERDUE_SECONDS, now=time.monotonic())),
    )
    overdue = tuple(task for task, is_overdue in found if is_overdue)
    for task in overdue:
        # Expires, so that messages do not pile up without a worker; a later call sends another.
        send(TaskMessage(task, "", queues.SYSTEM, seconds=OVERDUE_SECONDS))
    return overdue
