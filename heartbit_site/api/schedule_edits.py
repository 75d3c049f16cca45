"""Schedules from what requests say: made, changed, or only looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import transaction

from agents.versions import find_editable
from heartbit_site.api import schedule_forms as forms
from heartbit_site.base.models import Workspace
from heartbit_site.config.schedule_section import KINDS
from scheduling.actions.save_schedule import save_schedule
from scheduling.choices import TaskType
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.querysets import database_now, find_schedule

if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbit_site.api.schedule_inputs import RhythmIn, ScheduleChangeIn, ScheduleIn
    from heartbit_site.base.audit import Actor


def make_schedule(workspace: Workspace, body: ScheduleIn, *, by: Actor) -> Schedule:
    """Make one.

    Raises:
        AgentNotFoundError: The workspace has no such agent.
        HeartbitError: As ``save_schedule``.
    """
    row = Schedule(workspace=workspace)
    _set(row, body.model_dump())
    save_schedule(row, by=by)
    return row


@transaction.atomic
def change_schedule(
    workspace: Workspace, name: str, body: ScheduleChangeIn, *, by: Actor
) -> Schedule:
    """Change what was given, and nothing else of it.

    Raises:
        ScheduleNotFoundError: There is none of that name or number.
        AgentNotFoundError: The workspace has no such agent.
        HeartbitError: As ``save_schedule``.
    """
    # As that verb does: whoever else changes it waits, so that neither writes over the other.
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    row = find_schedule(workspace, name)
    _set(row, body.changes())
    save_schedule(row, by=by)
    return row


def preview_rhythm(body: RhythmIn) -> dict[str, Any]:
    """When something would come due; nothing is written.

    Raises:
        ScheduleError: The rhythm is none.
    """
    now = database_now()
    row = Schedule()
    _set(row, body.model_dump())
    row.begins_at = body.begins_at or now.replace(microsecond=0)
    return forms.rhythm(row, now)


def _set(row: Schedule, given: Mapping[str, Any]) -> None:
    rest = dict(given)
    for name, kind in KINDS.items():
        value = rest.pop(name, None)
        if value is not None:
            row.kind = kind
            setattr(row, name, value)
    if "agent" in rest:
        row.agent = find_editable(row.workspace, rest.pop("agent"))
    for name, value in rest.items():
        setattr(row, name, value)
    if (given.get("tool") or given.get("arguments")) and row.task_type != TaskType.TOOL_CALL:
        raise ScheduleError("A tool and its arguments go with the task_type tool_call alone.")
