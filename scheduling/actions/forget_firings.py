"""Forget what became of slots long ago."""

from __future__ import annotations

from datetime import timedelta

from django.db.models.functions import Now

from scheduling.choices import FiringStatus
from scheduling.models import Firing

KEEP = timedelta(days=90)


def forget_firings() -> int:
    """Delete the log of slots that were dealt with 90 days ago; return how many.

    Their schedules have moved on, so none comes again by itself; their runs stay by their policy.
    """
    old = Firing.objects.filter(created_at__lt=Now() - KEEP)
    return old.exclude(status=FiringStatus.HELD).delete()[0]
