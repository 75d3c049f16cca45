"""The mailboxes that are read, how often, and whether nobody looks at them, as without Beat."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import F

from agents.choices import ChannelKind
from agents.models import Channel

if TYPE_CHECKING:
    from datetime import datetime

#: A mailbox that was looked at is left alone for so long; one in trouble longer and longer.
REST = timedelta(seconds=20)
LONGEST_REST = timedelta(minutes=15)
_MOST_DOUBLINGS = 10


def due_for_polling(now: datetime, *, late: timedelta = timedelta()) -> list[Channel]:
    """The channels whose mailbox may be looked at again, those longest not looked at first.

    Args:
        now: The present.
        late: Only those for which that has been so for as long.
    """
    rows = Channel.objects.filter(kind=ChannelKind.EMAIL, enabled=True).exclude(imap_host="")
    rows = rows.select_related("workspace").order_by(
        F("last_polled_at").asc(nulls_first=True), "pk"
    )
    return [
        row
        for row in rows
        if row.last_polled_at is None or _rest(row) + late < now - row.last_polled_at
    ]


def mailboxes_are_overdue(now: datetime, seconds: float) -> bool:
    """Whether one has waited for a look for longer than that."""
    return bool(due_for_polling(now, late=timedelta(seconds=seconds)))


def _rest(channel: Channel) -> timedelta:
    factor: int = 2 ** min(channel.failures, _MOST_DOUBLINGS)
    return min(REST * factor, LONGEST_REST)
