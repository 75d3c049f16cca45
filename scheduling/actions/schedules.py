"""Create, change and remove schedules, by their settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now

from agents.models import Run
from agents.reads.agents import find_editable
from heartbit_site.base.audit import Actor, record_on
from heartbit_site.base.models import Workspace
from heartbit_site.base.rights import require
from scheduling.actions.save_schedule import save_schedule
from scheduling.beat_sync import remove_from_beat
from scheduling.choices import WITH_INPUT, FiringStatus, TaskType
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from scheduling.querysets import find_schedule
from scheduling.spec import KINDS


def create_schedule(workspace: Workspace, given: Mapping[str, Any], *, by: Actor) -> Schedule:
    """Create a schedule from settings of ``ScheduleSpec``; missing ones have defaults.

    Raises:
        AgentNotFoundError: The workspace has no such agent.
        HeartbitError: As for ``save_schedule``.
    """
    row = Schedule(workspace=workspace)
    put(row, given)
    save_schedule(row, by=by)
    return row


@transaction.atomic
def change_schedule(schedule: Schedule, given: Mapping[str, Any], *, by: Actor) -> Schedule:
    """Change the given settings, and return the changed row.

    Raises:
        ScheduleNotFoundError: The schedule was removed.
        AgentNotFoundError: The workspace has no such agent.
        HeartbitError: As for ``save_schedule``.
    """
    # Locked as in ``save_schedule``, so that concurrent changes do not overwrite each other.
    Workspace.objects.select_for_update(no_key=True).get(pk=schedule.workspace_id)
    row = find_schedule(schedule.workspace, str(schedule.pk))
    put(row, given)
    save_schedule(row, by=by)
    return row


def put(schedule: Schedule, given: Mapping[str, Any]) -> None:
    """Set the columns of a row, saved or not, to settings of ``ScheduleSpec``.

    Args:
        schedule: Row, with its workspace if an agent is given.
        given: Some or all settings; None for a kind of recurrence means it is not given.

    Raises:
        AgentNotFoundError: The workspace has no such agent.
        ScheduleError: A tool or an input is given for another type of task.
    """
    rest = dict(given)
    if rest.get("task_type", schedule.task_type) != schedule.task_type:
        rest.setdefault("input", {})  # that of another type of task means nothing
    for name, kind in KINDS.items():
        value = rest.pop(name, None)
        if value is not None:
            schedule.kind = kind
            setattr(schedule, name, value)
    if "agent" in rest:
        schedule.agent = find_editable(schedule.workspace, rest.pop("agent"))
    for name, value in rest.items():
        setattr(schedule, name, value)
    is_call = schedule.task_type == TaskType.TOOL_CALL
    if (given.get("tool") or given.get("arguments")) and not is_call:
        raise ScheduleError("Only the task_type tool_call takes a tool and its arguments.")
    if given.get("input") and schedule.task_type not in WITH_INPUT:
        raise ScheduleError("Only the task_types workflow and task take an input.")


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
    """Return the ids of the runs and tests started by schedules that were planned in these runs.

    ``HEARTBIT_PLANNED_RUNS`` names this function for the agents app.
    """
    firings = Firing.objects.filter(schedule__in=planned_in(workspace, runs))
    ids = firings.values_list("run_id", "test_run_id")
    return {one for pair in ids for one in pair if one is not None}


def erase_plans(workspace: Workspace, runs: Collection[UUID]) -> None:
    """Delete the schedules planned in these runs, with their rows in Celery Beat.

    ``HEARTBIT_ERASE_PLANS`` names this function for the agents app. The caller's transaction and
    audit entry are those of the erasure: an entry for each schedule would repeat its name.
    """
    for schedule in planned_in(workspace, runs):
        remove_from_beat(schedule)
        schedule.delete()


def planned_in(workspace: Workspace, runs: Collection[UUID]) -> QuerySet[Schedule]:
    """Return the schedules that agents planned in these runs.

    ``HEARTBIT_PLANS`` names this function for the agents app.
    """
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
