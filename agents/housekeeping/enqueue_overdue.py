"""Ring for what nobody rang for: Beat is not the only one who looks at the time."""

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

#: Several of Beat's rings: while it is there, nothing is ever so late.
OVERDUE_SECONDS = 30.0
#: Mailboxes are looked at less often, one after the other.
UNREAD_SECONDS = 120.0


def enqueue_overdue(untold: PendingQuotaNotices) -> tuple[str, ...]:
    """Tell the workers of the queue ``system`` to send what is overdue; the tasks that were rung.

    Any number may ring at once: who sends a delivery takes it first.

    Args:
        untold: Of this process, which looks again and again.
    """
    found = (
        (queues.DELIVER_WEBHOOKS, webhooks_are_overdue(OVERDUE_SECONDS)),
        (queues.DELIVER_RESULTS, results_are_overdue(OVERDUE_SECONDS)),
        (queues.POLL_MAILBOXES, mailboxes_are_overdue(timezone.now(), UNREAD_SECONDS)),
        (queues.SEND_QUOTA_NOTICES, untold.are_overdue(OVERDUE_SECONDS, now=time.monotonic())),
    )
    overdue = tuple(task for task, is_overdue in found if is_overdue)
    for task in overdue:
        # Without a worker nothing piles up: who still finds it overdue rings again.
        send(TaskMessage(task, "", queues.SYSTEM, seconds=OVERDUE_SECONDS))
    return overdue
