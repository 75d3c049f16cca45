"""Make a schedule of settings, or change some of them."""

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
    """Make a schedule of settings of ``ScheduleSpec``; those that are left out have defaults.

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
    """Change the settings that are given, and return the row as it is then.

    Raises:
        ScheduleNotFoundError: It has been removed.
        AgentNotFoundError: The workspace has no such agent.
        HeartbitError: As for ``save_schedule``.
    """
    # As ``save_schedule`` does: whoever else changes it waits, and neither writes over the other.
    Workspace.objects.select_for_update(no_key=True).get(pk=schedule.workspace_id)
    row = find_schedule(schedule.workspace, str(schedule.pk))
    put(row, given)
    save_schedule(row, by=by)
    return row
