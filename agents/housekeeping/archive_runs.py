"""Retention: archive runs whose retention time has passed, then delete them.

A file is on the disk before the first of its runs is deleted, so a crash in between leaves runs
that are archived again next time, and never loses one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.utils import timezone

from agents.housekeeping import archive_files as archive
from agents.runs.archive import ArchiveUnit, delete_unit, finished_units, lines
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace

FILE_RUNS = 1_000  # per file, before its runs are deleted
FILE_EVENTS = 50_000
PAGE = 200
MOST_DAYS = 36_525  # a century, longer than any run is kept


@dataclass(frozen=True, slots=True)
class Archived:
    """Result of archiving, or of counting.

    Attributes:
        runs: Number of deleted runs.
        kept: Number of archived runs that were not deleted, because they changed meanwhile or the
            process had to stop.
        conversations: Number of deleted conversations.
        files: Files written.
    """

    runs: int = 0
    kept: int = 0
    conversations: int = 0
    files: tuple[Path, ...] = ()

    def __add__(self, other: Archived) -> Archived:
        """Return the sum of two results."""
        return Archived(
            self.runs + other.runs,
            self.kept + other.kept,
            self.conversations + other.conversations,
            self.files + other.files,
        )


def archive_workspaces(*, goes_on: Callable[[], bool]) -> Archived:
    """Archive every workspace by its own or its tier's policy, until ``goes_on`` returns False.

    Raises:
        ArchiveError: The archive cannot be written; runs that are not in it are not deleted.
        ArchivingError: Another process is archiving.
    """
    total = Archived()
    with archive.locked(directory()):
        for workspace in Workspace.objects.select_related("tier").order_by("slug"):
            if workspace.kept_days is None:
                continue
            total += _archive(workspace, limit_of(workspace), goes_on=goes_on)
    return total


def archive_workspace(
    workspace: Workspace,
    *,
    days: int | None = None,
    said: Callable[[Archived], None] = lambda _: None,
) -> Archived:
    """Archive one workspace now.

    Args:
        workspace: The workspace.
        days: Minimum age of the runs in days since they ended; None: the workspace's policy.
        said: Callback with the progress, called after each file.

    Raises:
        ConfigurationError: The workspace keeps its runs for ever, and no days are given.
        ArchiveError: The archive cannot be written; runs that are not in it are not deleted.
        ArchivingError: Another process is archiving.
    """
    before = limit_of(workspace, days)
    with archive.locked(directory()):
        return _archive(workspace, before, goes_on=lambda: True, said=said)


def count_archivable(workspace: Workspace, *, days: int | None = None) -> Archived:
    """Count the runs and conversations that ``archive_workspace`` would archive.

    Raises:
        ConfigurationError: The workspace keeps its runs for ever, and no days are given.
    """
    units = list(_units(workspace, limit_of(workspace, days)))
    threads = sum(unit.is_conversation for unit in units)
    return Archived(runs=sum(unit.runs for unit in units), conversations=threads)


def directory() -> Path:
    """Return the directory of archives."""
    return Path(settings.HEARTBIT_ARCHIVE_DIR)


def limit_of(workspace: Workspace, days: int | None = None) -> datetime:
    """Return the time before which a run must have ended to be archived.

    Raises:
        ConfigurationError: The workspace keeps its runs for ever, and no days are given.
    """
    kept = days if days is not None else workspace.kept_days
    if kept is None:
        raise ConfigurationError(
            f"The workspace {workspace.slug} keeps its runs for ever: give a minimum age with "
            "--older-than, or set its retention days in the admin."
        )
    return timezone.now() - timedelta(days=min(kept, MOST_DAYS))


def _archive(
    workspace: Workspace,
    before: datetime,
    *,
    goes_on: Callable[[], bool],
    said: Callable[[Archived], None] = lambda _: None,
) -> Archived:
    total = Archived()
    for part in _parts(_units(workspace, before)):
        if not goes_on():
            break
        path = archive.write(directory(), workspace.slug, lines(part))
        total += _delete(part, before, path, goes_on)
        said(total)
    return total


def _delete(
    part: list[ArchiveUnit], before: datetime, path: Path, goes_on: Callable[[], bool]
) -> Archived:
    done = Archived(files=(path,))
    for unit in part:
        if goes_on() and delete_unit(unit, before):
            done += Archived(runs=unit.runs, conversations=int(unit.is_conversation))
        else:
            done += Archived(kept=unit.runs)
    return done


def _units(workspace: Workspace, before: datetime) -> Iterator[ArchiveUnit]:
    """Yield all units that ended before then, page by page."""
    for conversations in (False, True):
        page: list[ArchiveUnit] = []
        while True:
            after = page[-1] if page else None
            page = finished_units(
                workspace, before, conversations=conversations, after=after, limit=PAGE
            )
            yield from page
            if len(page) < PAGE:
                break


def _parts(units: Iterator[ArchiveUnit]) -> Iterator[list[ArchiveUnit]]:
    """Group units into the contents of one file each."""
    part: list[ArchiveUnit] = []
    runs = events = 0
    for unit in units:
        part.append(unit)
        runs, events = runs + unit.runs, events + unit.events
        if runs >= FILE_RUNS or events >= FILE_EVENTS:
            yield part
            part, runs, events = [], 0, 0
    if part:
        yield part
