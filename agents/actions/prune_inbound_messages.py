"""Delete the log of old inbound messages."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from agents.models import InboundMessage

#: Duplicates are recognised for this long; no sender repeats a message later.
KEPT = timedelta(days=90)


def prune_inbound_messages() -> int:
    """Delete the log of messages older than 90 days, not their conversations; return the number."""
    return InboundMessage.objects.filter(received_at__lt=Now() - KEPT).delete()[0]
