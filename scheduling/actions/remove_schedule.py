"""Removal of schedules, of the plans of erased runs, and of old firings."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from agents.models import Run
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from scheduling.beat_sync import remove_from_beat
from scheduling.choices import FiringStatus
from scheduling.models import Firing, Schedule


@transaction.atomic
def remove_schedule(schedule: Schedule, *, by: Actor) -> None:
    """Delete a schedule; its deferred firings never start.

    Args:
        schedule: Saved schedule.
        by: Author, for the audit.
    """
    require(by, "agents:write", workspace_id=schedule.workspace_id)
    remove_from_beat(schedule)
    Schedule.objects.filter(pk=schedule.pk).delete()
    record_on(by, "schedule.remove", schedule)


def find_planned_runs(workspace: Workspace, runs: Collection[UUID]) -> set[UUID]:
    """Return the ids of the runs started by schedules that were planned in these runs.

    ``HEARTBIT_PLANNED_RUNS`` names this function for the agents app.
    """
    firings = Firing.objects.filter(schedule__in=_planned(workspace, runs), run_id__isnull=False)
    return {one for one in firings.values_list("run_id", flat=True) if one is not None}


def erase_plans(workspace: Workspace, runs: Collection[UUID]) -> None:
    """Delete the schedules planned in these runs, with their rows in Celery Beat.

    ``HEARTBIT_ERASE_PLANS`` names this function for the agents app. The caller's transaction and
    audit entry are those of the erasure: an entry for each schedule would repeat its name.
    """
    for schedule in _planned(workspace, runs):
        remove_from_beat(schedule)
        schedule.delete()


def _planned(workspace: Workspace, runs: Collection[UUID]) -> QuerySet[Schedule]:
    return Schedule.objects.filter(workspace=workspace, created_by_run_id__in=runs)


KEEP = timedelta(days=90)


def prune_firings() -> int:
    """Delete firings older than 90 days; return their number.

    Their schedules have moved on, so none fires again; their runs stay by their own retention.
    Firings with an unfinished run are kept, because the overlap policy needs them.
    """
    old = Firing.objects.filter(created_at__lt=Now() - KEEP).exclude(status=FiringStatus.DEFERRED)
    at_work = Run.objects.filter(pk=OuterRef("run_id"), finished_at__isnull=True)
    return old.exclude(Exists(at_work)).delete()[0]
