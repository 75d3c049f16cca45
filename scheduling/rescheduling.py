"""Effect of a schedule's edits on its next and its elapsed occurrences."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from scheduling.choices import FiringStatus
from scheduling.errors import ScheduleError
from scheduling.firings import record_firing
from scheduling.models import Schedule
from scheduling.occurrences import elapsed_occurrences
from scheduling.spec import RhythmSpec

#: Columns that define a schedule's occurrences.
RHYTHM = ("kind", *RhythmSpec.model_fields)
_CHANGED = "The schedule's recurrence was changed before this occurrence was processed."
_PAUSED = "The schedule was paused before this occurrence was processed."


def changes_next_occurrence(
    before: Schedule, after: Schedule, changed: Collection[str], now: datetime
) -> bool:
    """Return True if an edit changes the next occurrence.

    Args:
        before: Row as stored.
        after: Row as edited.
        changed: Columns in which the two differ.
        now: Time of the database.
    """
    concerned = {*RHYTHM, "enabled"} & set(changed)
    if concerned == {"ends_at"}:
        return not _only_ends_later_or_earlier(before, after, now)
    return bool(concerned)


def _only_ends_later_or_earlier(before: Schedule, after: Schedule, now: datetime) -> bool:
    """Return True if the new end changes neither past occurrences nor the next one."""
    slot = before.next_occurrence
    ends = [one.ends_at for one in (before, after) if one.ends_at is not None]
    return slot is not None and all(end > now and end >= slot for end in ends)


def skip_unprocessed(before: Schedule, after: Schedule, now: datetime) -> None:
    """Record the elapsed occurrences that were not processed as skipped.

    There may be many, if no worker was running for long, or they wait for their jitter. Skipping
    them is better than starting work that the edit has just withdrawn.
    """
    try:
        come = elapsed_occurrences(before, now)
    except ScheduleError:  # the edit repairs a recurrence that was not valid
        return
    for slot in come:
        record_firing(after, slot, FiringStatus.SKIPPED, _CHANGED if after.enabled else _PAUSED)
