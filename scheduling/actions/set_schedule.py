"""Creation and change of a schedule by its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from agents.reads.versions import find_editable
from heartbit_site.base.audit import Actor
from heartbit_site.base.models import Workspace
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import TaskType
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
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
        ScheduleError: A tool is given for another type of task than a tool call.
    """
    rest = dict(given)
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
