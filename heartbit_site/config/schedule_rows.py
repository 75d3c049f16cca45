"""Write schedules' rows, each through its own verb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from heartbit_site.base.errors import ConfigurationError, HeartbitError
from scheduling.actions.set_schedule import change_schedule, create_schedule
from scheduling.models import Schedule
from scheduling.querysets import database_now

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbit_site.base.audit import Actor
    from heartbit_site.base.models import Workspace
    from scheduling.spec import ScheduleSpec


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
    workspace: Workspace, settings: Sequence[ScheduleSpec], *, prune: bool, by: Actor
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


def _write(workspace: Workspace, setting: ScheduleSpec, by: Actor) -> str:
    """Write one schedule; return what was done with it."""
    row = Schedule.objects.filter(workspace=workspace, name=setting.name).first()
    if row is None and _is_over(setting):
        return "over"
    unsaid = {"begins_at"} if setting.begins_at is None else set()  # it begins now, or as it did
    given = setting.model_dump(exclude=unsaid)
    if row is None:
        create_schedule(workspace, given, by=by)
        return "created"
    changed = change_schedule(row, given, by=by)
    return "unchanged" if changed.updated_at == row.updated_at else "updated"


def _is_over(setting: ScheduleSpec) -> bool:
    return setting.at is not None and setting.at <= database_now() and setting.enabled


def _pause_others(workspace: Workspace, names: Sequence[str], by: Actor) -> list[str]:
    """Pause what is not named; what agents planned for themselves is no file's affair."""
    rows = Schedule.objects.filter(
        workspace=workspace, enabled=True, created_by_run_id__isnull=True
    )
    others = list(rows.exclude(name__in=names).order_by("name"))
    for row in others:
        change_schedule(row, {"enabled": False}, by=by)
    return [row.name for row in others]
