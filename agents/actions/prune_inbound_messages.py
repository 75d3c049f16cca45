"""Forget what came in by channels long ago."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from agents.models import InboundMessage

#: As long nothing is taken twice; no sender repeats a message for longer.
KEPT = timedelta(days=90)


def prune_inbound_messages() -> int:
    """Delete the log of what came in 90 days ago; conversations and runs stay; how many rows."""
    return InboundMessage.objects.filter(received_at__lt=Now() - KEPT).delete()[0]
