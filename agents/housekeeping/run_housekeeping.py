"""Hourly clean-up of the database: old rows are deleted, and old runs archived."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from agents.actions.notified_browsers import prune_browsers
from agents.actions.state import prune_state
from agents.actions.task_pushes import prune_task_pushes
from agents.choices import DeliveryStatus
from agents.housekeeping.archive_files import ArchiveError, ArchivingError
from agents.housekeeping.archive_runs import archive_workspaces
from agents.models import (
    Delivery,
    InboundMessage,
    InboxEntry,
    Message,
    Run,
    WebhookDelivery,
    WorkerHeartbeat,
)
from memory.actions.erase import expire_memories

logger = logging.getLogger(__name__)

WORKERS_KEPT = timedelta(days=1)
DELIVERIES_KEPT = timedelta(days=30)
#: Duplicates of inbound messages are recognised for this long; no sender repeats one later.
MESSAGES_KEPT = timedelta(days=90)
MOST_AT_ONCE = 10_000


def prune_workers() -> int:
    """Delete heartbeat rows of processes gone for a day; return the number of rows.

    Journals that name such a worker stay unchanged.
    """
    return WorkerHeartbeat.objects.filter(left_at__lt=Now() - WORKERS_KEPT).delete()[0]


def prune_webhook_deliveries() -> int:
    """Delete finished deliveries older than 30 days; return the number of rows."""
    old = WebhookDelivery.objects.filter(created_at__lt=Now() - DELIVERIES_KEPT)
    return old.exclude(status=DeliveryStatus.PENDING).delete()[0]


def prune_messages() -> int:
    """Delete messages between agents older than 90 days, read or not; return how many.

    Deletes 10,000 at most: it is called every hour.
    """
    old = Message.objects.filter(created_at__lt=Now() - MESSAGES_KEPT).order_by("created_at")
    ids = list(old.values_list("pk", flat=True)[:MOST_AT_ONCE])
    InboxEntry.objects.filter(message__in=ids).delete()
    return Message.objects.filter(pk__in=ids).delete()[0]


def prune_result_deliveries() -> int:
    """Delete finished deliveries older than 30 days whose run is gone; return the number of rows.

    A run that still exists keeps its deliveries, to show how its result was delivered.
    """
    old = Delivery.objects.filter(created_at__lt=Now() - DELIVERIES_KEPT)
    over = old.exclude(status=DeliveryStatus.PENDING)
    return over.exclude(Exists(Run.objects.filter(pk=OuterRef("run_id")))).delete()[0]


def prune_inbound_messages() -> int:
    """Delete the log of messages older than 90 days, not their conversations; return the number."""
    return InboundMessage.objects.filter(received_at__lt=Now() - MESSAGES_KEPT).delete()[0]


def prune_old_pushes() -> int:
    """Delete receivers of tasks that ended, added more than 30 days ago; return their number."""
    return prune_task_pushes(Now() - DELIVERIES_KEPT)


PRUNES = (
    prune_workers,
    prune_webhook_deliveries,
    prune_messages,
    prune_result_deliveries,
    prune_inbound_messages,
    prune_old_pushes,
    prune_browsers,
    expire_memories,
    prune_state,
)


def run_housekeeping(*, goes_on: Callable[[], bool]) -> int:
    """Prune old rows, and archive and delete runs by policy; return the number of rows and runs.

    If the archive cannot be written, one error is logged and no run is deleted.
    """
    gone = sum(prune() for prune in PRUNES)
    try:
        archived = archive_workspaces(goes_on=goes_on)
    except ArchivingError as busy:
        logger.info("%s", busy)
        return gone
    except ArchiveError as error:
        logger.error("%s", error)
        return gone
    if archived.files:
        logger.info(
            "archived and deleted %d runs and %d conversations in %d files (%d runs stay)",
            *(archived.runs, archived.conversations, len(archived.files), archived.kept),
        )
    return gone + archived.runs
