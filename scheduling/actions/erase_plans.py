"""Erasure of schedules that agents planned in erased runs, and of the runs that they started."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db.models import QuerySet

from heartbit_site.base.models import Workspace
from scheduling.beat_sync import remove_from_beat
from scheduling.models import Firing, Schedule


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
