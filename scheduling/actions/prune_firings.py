"""Forget what became of slots long ago."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from agents.models import Run
from scheduling.choices import FiringStatus
from scheduling.models import Firing

KEEP = timedelta(days=90)


def prune_firings() -> int:
    """Delete the log of slots that were dealt with 90 days ago; return how many.

    Their schedules have moved on, so none comes again by itself; their runs stay by their policy.
    Those whose run is still at work are kept: by them the schedule knows that it is.
    """
    old = Firing.objects.filter(created_at__lt=Now() - KEEP).exclude(status=FiringStatus.DEFERRED)
    at_work = Run.objects.filter(pk=OuterRef("run_id"), finished_at__isnull=True)
    return old.exclude(Exists(at_work)).delete()[0]
