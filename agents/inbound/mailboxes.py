"""The mailboxes that are read, and whether nobody looks at them, as without Beat."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import Q
from django.db.models.functions import Now

from agents.choices import ChannelKind
from agents.models import Channel

if TYPE_CHECKING:
    from django.db.models import QuerySet


def mailboxes() -> QuerySet[Channel]:
    """The channels whose mailbox is read."""
    rows = Channel.objects.filter(kind=ChannelKind.EMAIL, enabled=True)
    return rows.exclude(imap_host="")


def mailboxes_are_overdue(seconds: float) -> bool:
    """Whether one was not looked at for longer than that."""
    before = Now() - timedelta(seconds=seconds)
    return mailboxes().filter(Q(looked_at__isnull=True) | Q(looked_at__lt=before)).exists()
