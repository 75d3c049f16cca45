"""Creation and change of a schedule by its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction

from heartbit_site.base.models import Workspace
from scheduling.actions.save_schedule import save_schedule
from scheduling.models import Schedule
from scheduling.querysets import find_schedule
from scheduling.schedule_settings import put

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.base.audit import Actor


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
