"""Retention: archive runs whose time is over, then delete them.

The order makes it safe: a file is on the disk before the first of its runs is deleted. A crash in
between leaves runs that are archived again next time, never one that is in neither place.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import timezone

from agents.housekeeping import archive_files as archive
from agents.runs.archive import ArchiveUnit, delete_unit, finished_units, lines
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.base.models import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FILE_RUNS = 1_000  # in one file, before these are deleted
FILE_EVENTS = 50_000
PAGE = 200
MOST_DAYS = 36_525  # a century: no run is older


@dataclass(frozen=True, slots=True)
class Archived:
    """What was done, or would be.

    Attributes:
        runs: How many were deleted.
        kept: Runs that are archived and were not deleted, because they changed meanwhile, or it
            was time to stop.
        files: What was written.
    """

    runs: int = 0
    kept: int = 0
    conversations: int = 0
    files: tuple[Path, ...] = ()

    def __add__(self, other: Archived) -> Archived:
        """Both together."""
        return Archived(
            self.runs + other.runs,
            self.kept + other.kept,
            self.conversations + other.conversations,
            self.files + other.files,
        )


def archive_workspaces(*, goes_on: Callable[[], bool]) -> Archived:
    """Archive every workspace by its policy, its own or its tier's; ``goes_on`` may end it early.

    Raises:
        ArchiveError: The archive cannot be written; what it does not hold is not deleted.
        ArchivingError: Another process does it now.
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
        workspace: Whose runs.
        days: How long ago they ended; None: as the workspace's policy says.
        said: Told how far it has come, after each file.

    Raises:
        ConfigurationError: It keeps its runs for ever, and no days are given.
        ArchiveError: The archive cannot be written; what it does not hold is not deleted.
        ArchivingError: Another process does it now.
    """
    before = limit_of(workspace, days)
    with archive.locked(directory()):
        return _archive(workspace, before, goes_on=lambda: True, said=said)


def count_archivable(workspace: Workspace, *, days: int | None = None) -> Archived:
    """What ``archive_workspace`` would do.

    Raises:
        ConfigurationError: It keeps its runs for ever, and no days are given.
    """
    units = list(_units(workspace, limit_of(workspace, days)))
    threads = sum(unit.is_conversation for unit in units)
    return Archived(runs=sum(unit.runs for unit in units), conversations=threads)


def directory() -> Path:
    """Where archives go."""
    return Path(settings.HEARTBIT_ARCHIVE_DIR)


def limit_of(workspace: Workspace, days: int | None = None) -> datetime:
    """Before when a run has to have ended.

    Raises:
        ConfigurationError: The workspace keeps its runs for ever, and no days are given.
    """
    kept = days if days is not None else workspace.kept_days
    if kept is None:
        raise ConfigurationError(
            f"The workspace {workspace.slug} keeps its runs for ever: say how old they have to be "
            "with --older-than, or set its retention days in the admin."
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
    """All that is over, page by page."""
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
    """Units in the measure of one file each."""
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
