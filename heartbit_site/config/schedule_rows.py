"""Write schedules' rows, each through its own verb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agents.versions import find_editable
from heartbit_site.base.errors import ConfigurationError, HeartbitError
from scheduling.actions.save_schedule import save_schedule
from scheduling.models import Schedule
from scheduling.querysets import database_now

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from heartbit_site.base.audit import Actor
    from heartbit_site.base.models import Workspace
    from heartbit_site.config.definition import ScheduleSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleChanges:
    """What an import did with schedules, by their names, in the file's order.

    Attributes:
        created: New ones.
        updated: Those that were different.
        unchanged: Those that were like this already.
        over: One-offs that were not made, for their time is over.
        paused: Those the file does not have; only when pruning.
    """

    created: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    paused: tuple[str, ...] = ()


def write_schedules(
    workspace: Workspace, settings: Sequence[ScheduleSetting], *, prune: bool, by: Actor
) -> ScheduleChanges:
    """Make the rows what the settings say; the caller holds the workspace's row lock.

    Args:
        workspace: Where.
        settings: Their agents are there already.
        prune: Also pause those that are not named and that people made.
        by: Who does it, for the audit.

    Raises:
        ConfigurationError: One of them cannot be as it is described.
    """
    done: dict[str, list[str]] = {"created": [], "updated": [], "unchanged": [], "over": []}
    for setting in settings:
        try:
            done[_write(workspace, setting, by)].append(setting.name)
        except HeartbitError as error:
            raise ConfigurationError(f"The schedule {setting.name!r}: {error}") from error
    paused = _pause_others(workspace, [setting.name for setting in settings], by) if prune else []
    return ScheduleChanges(
        **{name: tuple(names) for name, names in done.items()}, paused=tuple(paused)
    )


def _write(workspace: Workspace, setting: ScheduleSetting, by: Actor) -> str:
    """Write one; what was done with it."""
    rows = Schedule.objects.filter(workspace=workspace, name=setting.name)
    row = rows.select_related("agent").first()
    if row is None and _is_over(setting.columns):
        return "over"
    before = row.updated_at if row is not None else None
    row = row or Schedule(workspace=workspace, name=setting.name)
    row.agent = find_editable(workspace, setting.agent)
    for name, value in setting.columns.items():
        if name != "begins_at" or value is not None:  # unsaid, it begins now, or as it did
            setattr(row, name, value)
    save_schedule(row, by=by)
    if before is None:
        return "created"
    return "unchanged" if row.updated_at == before else "updated"


def _is_over(columns: Mapping[str, Any]) -> bool:
    at = columns["at"]
    return at is not None and at <= database_now() and columns["enabled"]


def _pause_others(workspace: Workspace, names: Sequence[str], by: Actor) -> list[str]:
    """What agents planned for themselves is no file's affair."""
    rows = Schedule.objects.filter(workspace=workspace, enabled=True, made_in_run__isnull=True)
    others = list(rows.exclude(name__in=names).select_related("agent").order_by("name"))
    for row in others:
        row.enabled = False
        save_schedule(row, by=by)
    return [row.name for row in others]
