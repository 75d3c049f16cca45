"""Mailboxes that are due for polling or overdue."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import F

from agents.choices import ChannelKind
from agents.models import Channel

#: Pause after a poll; it doubles with each failure.
REST = timedelta(seconds=20)
LONGEST_REST = timedelta(minutes=15)
_MOST_DOUBLINGS = 10


def due_for_polling(now: datetime, *, late: timedelta = timedelta()) -> list[Channel]:
    """Return the channels due for polling, for longer than ``late``, longest unpolled first."""
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
    """Return True if a mailbox has been due for more than ``seconds``."""
    return bool(due_for_polling(now, late=timedelta(seconds=seconds)))


def _rest(channel: Channel) -> timedelta:
    factor: int = 2 ** min(channel.failures, _MOST_DOUBLINGS)
    return min(REST * factor, LONGEST_REST)
