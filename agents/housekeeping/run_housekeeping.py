"""Hourly clean-up of the database."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from agents.actions.deliver_results import prune_result_deliveries
from agents.actions.deliver_webhooks import prune_webhook_deliveries
from agents.actions.prune_inbound_messages import prune_inbound_messages
from agents.actions.prune_messages import prune_messages
from agents.housekeeping.archive_files import ArchiveError, ArchivingError
from agents.housekeeping.archive_runs import archive_workspaces
from agents.housekeeping.prune_workers import prune_workers

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

_FORGET = (
    prune_workers,
    prune_webhook_deliveries,
    prune_messages,
    prune_result_deliveries,
    prune_inbound_messages,
)


def run_housekeeping(*, goes_on: Callable[[], bool]) -> int:
    """Prune old rows, and archive and delete runs by policy; return the number of rows and runs.

    If the archive cannot be written, one error is logged and no run is deleted.
    """
    gone = sum(forget() for forget in _FORGET)
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
