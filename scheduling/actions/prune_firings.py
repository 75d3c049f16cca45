"""Deletion of old firings."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from agents.models import Run
from scheduling.choices import FiringStatus
from scheduling.models import Firing

KEEP = timedelta(days=90)


def prune_firings() -> int:
    """Delete firings older than 90 days; return their number.

    Their schedules have moved on, so none fires again; their runs stay by their own retention.
    Firings with an unfinished run are kept, because the overlap policy needs them.
    """
    old = Firing.objects.filter(created_at__lt=Now() - KEEP).exclude(status=FiringStatus.DEFERRED)
    at_work = Run.objects.filter(pk=OuterRef("run_id"), finished_at__isnull=True)
    return old.exclude(Exists(at_work)).delete()[0]
