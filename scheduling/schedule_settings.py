"""Conversion between a schedule's row and its settings."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from agents.reads.versions import find_editable
from scheduling.choices import TaskType
from scheduling.errors import ScheduleError
from scheduling.spec import KINDS, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scheduling.models import Schedule


def table_of(schedule: Schedule) -> dict[str, Any]:
    """Return the settings that a row holds, as a table of ``ScheduleSpec``."""
    values = {name: getattr(schedule, name) for name in ("name", *SETTINGS)}
    return {
        **{name: one.value if isinstance(one, Enum) else one for name, one in values.items()},
        "agent": schedule.agent.name if schedule.agent_id else "",
        "cron": schedule.cron or None,
    }


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
        raise ScheduleError("A tool and its arguments go with the task_type tool_call alone.")
