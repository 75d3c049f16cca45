"""When a change makes a schedule count its slots anew, and what becomes of those that had come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduling.choices import FiringStatus
from scheduling.errors import ScheduleError
from scheduling.firings import record_firing
from scheduling.occurrences import elapsed_occurrences
from scheduling.spec import RhythmSpec

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from scheduling.models import Schedule

#: The columns that say when a schedule has its slots.
RHYTHM = ("kind", *RhythmSpec.model_fields)
_CHANGED = "The schedule's rhythm was changed before this slot was looked at."
_PAUSED = "The schedule was paused before this slot was looked at."


def changes_next_occurrence(
    before: Schedule, after: Schedule, changed: Collection[str], now: datetime
) -> bool:
    """Whether the slot that is due next is another one.

    Args:
        before: The row as it is stored,
        after: and as it will be.
        changed: The columns in which they differ.
        now: The database's time.
    """
    concerned = {*RHYTHM, "enabled"} & set(changed)
    if concerned == {"ends_at"}:
        return not _only_ends_later_or_earlier(before, after, now)
    return bool(concerned)


def _only_ends_later_or_earlier(before: Schedule, after: Schedule, now: datetime) -> bool:
    """Whether all slots until now stay what they were, and the next one is within the new end."""
    slot = before.next_occurrence
    ends = [one.ends_at for one in (before, after) if one.ends_at is not None]
    return slot is not None and all(end > now and end >= slot for end in ends)


def skip_unprocessed(before: Schedule, after: Schedule, now: datetime) -> None:
    """Note the slots that came by the stored row and that nobody has looked at.

    They may be many, where no worker was there for long, or wait for their jitter to be over. It
    is better to say that they are skipped than to start what somebody has just taken back.
    """
    try:
        come = elapsed_occurrences(before, now)
    except ScheduleError:  # it could not be read, and that is what is mended now
        return
    for slot in come:
        record_firing(after, slot, FiringStatus.SKIPPED, _CHANGED if after.enabled else _PAUSED)
