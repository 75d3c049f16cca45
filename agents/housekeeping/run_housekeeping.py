"""Hourly clean-up of the database."""

from __future__ import annotations

import logging
from collections.abc import Callable

from agents.housekeeping.archive_files import ArchiveError, ArchivingError
from agents.housekeeping.archive_runs import archive_workspaces
from agents.housekeeping.prune import PRUNES

logger = logging.getLogger(__name__)


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
