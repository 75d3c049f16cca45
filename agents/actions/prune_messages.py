"""Delete old messages between agents."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from agents.models import InboxEntry, Message

KEPT = timedelta(days=90)
MOST_AT_ONCE = 10_000


def prune_messages() -> int:
    """Delete messages older than 90 days, read or not; return how many.

    Deletes 10,000 at most: it is called every hour.
    """
    old = Message.objects.filter(created_at__lt=timezone.now() - KEPT).order_by("created_at")
    ids = list(old.values_list("pk", flat=True)[:MOST_AT_ONCE])
    InboxEntry.objects.filter(message__in=ids).delete()
    return Message.objects.filter(pk__in=ids).delete()[0]
