"""Storage of a schedule and its row in Celery Beat, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from typing import Any, get_args

from django.db import transaction
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agents.definitions.validation_messages import phrase, sentence_of
from agents.delivery.targets import check_targets
from agents.reads.reviewers import reviewers_problem
from heartbit_site.base.audit import Actor, changes, record_on
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.models import Workspace
from heartbit_site.base.moments import to_utc
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text
from scheduling.actions.task_checks import check_arguments, check_input, check_test, check_tool
from scheduling.beat_sync import sync_to_beat
from scheduling.choices import WITH_INPUT, Kind, TaskType
from scheduling.errors import ScheduleConflictError, ScheduleError
from scheduling.firings import changes_next_occurrence, skip_unprocessed
from scheduling.models import Schedule
from scheduling.occurrences import build_recurrence, fires_at, first_slot, upcoming_occurrences
from scheduling.querysets import database_now
from scheduling.spec import KINDS, SETTINGS, CheckedSpec, UnusableError

MOST = 1_000  # per workspace
CREATED = "schedule.create"  # audit action
_CHANGED = ("name", "agent_id", "kind", *SETTINGS)
_TIMES = ("begins_at", "ends_at", "at")
_CLOCKS_OWN = (
    "next_occurrence",
    "next_at",
    "last_occurrence",
    "conversation_id",
    "periodic_task_id",
)


@transaction.atomic
def save_schedule(schedule: Schedule, *, by: Actor) -> None:
    """Write the row; a changed recurrence or a resumed schedule starts from now.

    Elapsed occurrences of the old recurrence that were not processed are recorded as skipped.

    Args:
        schedule: New or changed schedule.
        by: Author, for the audit.

    Raises:
        ScheduleError: The recurrence, the task or the targets are not valid.
        ScheduleConflictError: The name is taken, or the workspace has too many schedules.
    """
    require(by, "agents:write", workspace_id=schedule.workspace_id)
    workspace = Workspace.objects.select_for_update(no_key=True).get(pk=schedule.workspace_id)
    now = database_now()
    before = _before(schedule, workspace)
    _refresh(schedule, before, now)
    if before is None or not _only_pauses(before, schedule):
        check(schedule, workspace)
    found = {} if before is None else changes(before, schedule, _CHANGED)
    if before is not None and not found:
        return
    if "agent_id" in found:
        schedule.conversation_id = None  # it belongs to the previous agent
    if before is None:
        schedule.created_by = by.name[:200]
        schedule.next_occurrence = _aimed(schedule, now, is_new=True)
    elif changes_next_occurrence(before, schedule, found, now):
        skip_unprocessed(before, schedule, now)
        schedule.next_occurrence = _aimed(schedule, now, is_new=False)
    _write(schedule)
    action = CREATED if before is None else "schedule.change"
    details = _details(schedule) if before is None else found
    record_on(by, action, schedule, details=details)


def _refresh(schedule: Schedule, before: Schedule | None, now: datetime) -> None:
    if before is not None:  # it may have been fired since the caller read it
        for name in _CLOCKS_OWN:
            setattr(schedule, name, getattr(before, name))
    if getattr(schedule, "begins_at", None) is None:  # only of a new schedule
        schedule.begins_at = now
    for name in _TIMES:
        if (moment := getattr(schedule, name)) is not None:
            setattr(schedule, name, to_utc(moment).replace(microsecond=0))


def _write(schedule: Schedule) -> None:
    schedule.next_at = schedule.next_occurrence
    schedule.save()  # jitter depends on the primary key
    if schedule.next_occurrence is not None:
        schedule.next_at = fires_at(schedule, schedule.next_occurrence)
    schedule.periodic_task = sync_to_beat(schedule)
    schedule.save(update_fields=["next_at", "periodic_task"])


def check(schedule: Schedule, workspace: Workspace) -> None:
    """Normalise a row, or raise; nothing is written.

    Raises:
        HeartbitError: The row is not valid; the message has all problems.
    """
    found = [error for _, error in problems(schedule, workspace)]
    if len(found) == 1:
        raise found[0]
    if found:
        raise ScheduleError(" ".join(str(error) for error in found))


def problems(
    schedule: Schedule, workspace: Workspace | None, *, known: Collection[str] = ()
) -> list[tuple[str, HeartbitError]]:
    """Normalise a row, and return its problems, each with the column concerned.

    Args:
        schedule: Schedule, saved or not.
        workspace: Workspace of the schedule; None: not chosen yet, so nothing is looked up in it.
        known: Columns with known problems, which are not checked again.
    """
    _forget_the_rest(schedule)
    found = [one for one in _value_problems(schedule) if one[0] not in known]
    wrong = {*known, *(column for column, _ in found)}
    checks = list(_PARTS.items())
    if workspace is not None:
        checks.append(("agent", partial(_check_agent, workspace=workspace)))
        checks.append(("review", partial(_check_review, workspace=workspace)))
        checks.append(("test", partial(check_test, workspace=workspace)))
        checks.append(("deliver", partial(_check_targets, workspace=workspace)))
    for column, check_part in checks:
        name = _RHYTHM_COLUMNS.get(schedule.kind, column) if column == "kind" else column
        if name in wrong or (column == "kind" and not wrong.isdisjoint(_ALWAYS_RHYTHM)):
            continue
        try:
            check_part(schedule)
        except HeartbitError as error:
            found.append((name, error))
    return found


def _forget_the_rest(schedule: Schedule) -> None:
    """Clear the settings of other kinds of recurrence and task, and clean the texts."""
    if schedule.kind != Kind.CRON:
        schedule.cron = ""
    if schedule.kind != Kind.INTERVAL:
        schedule.every_seconds = None
    if schedule.kind != Kind.ONCE:
        schedule.at = None
    if schedule.task_type != TaskType.TOOL_CALL:
        schedule.tool, schedule.arguments = "", {}
    if schedule.task_type not in WITH_INPUT:
        schedule.input = {}
    schedule.name = clean_text(schedule.name)
    schedule.task = clean_text(schedule.task).strip()


def _value_problems(schedule: Schedule) -> Iterator[tuple[str, HeartbitError]]:
    """Validate each value of the row by itself against the settings, except the agent."""
    try:
        checked = CheckedSpec.model_validate(table_of(schedule))
    except ValidationError as error:
        for details in error.errors(include_url=False):
            column = str(details["loc"][0])
            if column != "agent":  # looked up below
                yield column, ScheduleError(_sentence(column, details))
        return
    schedule.test = checked.test
    for name in ("name", "cron", *_TIMES):
        if (value := getattr(checked, name)) is not None:
            setattr(schedule, name, value)


def table_of(schedule: Schedule) -> dict[str, Any]:
    """Return the settings that a row holds, as a table of ``ScheduleSpec``."""
    values = {name: getattr(schedule, name) for name in ("name", *SETTINGS)}
    return {
        **{name: one.value if isinstance(one, Enum) else one for name, one in values.items()},
        "agent": schedule.agent.name if schedule.agent_id else "",
        "cron": schedule.cron or None,
    }


def _sentence(column: str, details: ErrorDetails) -> str:
    error = details.get("ctx", {}).get("error")
    if isinstance(error, UnusableError):
        return error.sentence
    match details["type"]:
        case "literal_error":
            words = get_args(CheckedSpec.model_fields[column].annotation)
            return f"The schedule's {column} is not valid: choose from {', '.join(words)}."
        case "string_too_long":
            most = details["ctx"]["max_length"]
            return f"The schedule's {column} has more than {most:,} characters: shorten it."
        case "dict_type":
            what = "arguments of a scheduled tool call" if column == "arguments" else column
            return f"The {what} must be a JSON object."
    return f"The schedule's {sentence_of(details['loc'], phrase(details))}"


def _check_agent(schedule: Schedule, workspace: Workspace) -> None:
    if not schedule.agent_id:
        raise ScheduleError("The schedule needs an agent: name one.")
    if schedule.agent.workspace_id != workspace.pk or schedule.agent.origin:
        raise ScheduleError(f"The workspace {workspace.slug} has no such agent.")


def _check_review(schedule: Schedule, workspace: Workspace) -> None:
    if schedule.review and (problem := reviewers_problem(workspace, schedule.review)):
        raise ScheduleError(f"The schedule's {sentence_of(('review',), problem)}")


def _check_targets(schedule: Schedule, workspace: Workspace) -> None:
    schedule.deliver = [
        target.model_dump(mode="json") for target in check_targets(workspace, schedule.deliver)
    ]


def _check_task(schedule: Schedule) -> None:
    is_said = schedule.task or (schedule.task_type == TaskType.TASK and schedule.input)
    if schedule.task_type in (TaskType.TASK, TaskType.MESSAGE) and not is_said:
        raise ScheduleError("The task is empty: describe what the agent should do each time.")


def _check_end(schedule: Schedule) -> None:
    if schedule.ends_at is not None and schedule.ends_at <= schedule.begins_at:
        raise ScheduleError("The schedule ends before it begins.")


def _check_rhythm(schedule: Schedule) -> None:
    if schedule.kind not in Kind.values:
        raise ScheduleError(
            f"The schedule's kind is not valid: choose from {', '.join(Kind.values)}."
        )
    if schedule.at is not None and schedule.at < schedule.begins_at:
        raise ScheduleError("The time is in the past: give a future time.")
    if schedule.ends_at is not None and schedule.ends_at <= schedule.begins_at:
        build_recurrence(schedule)  # _check_end reports that no occurrence is left
        return
    # Also finds a recurrence that never comes true.
    if not upcoming_occurrences(schedule, schedule.begins_at - timedelta(seconds=1), 1):
        raise ScheduleError("The schedule has no firing between its begin and its end.")


#: Checks of related settings, by the column that their problems concern.
_PARTS: dict[str, Callable[[Schedule], None]] = {
    "tool": check_tool,
    "arguments": check_arguments,
    "input": check_input,
    "task": _check_task,
    "ends_at": _check_end,
    "kind": _check_rhythm,
}
_RHYTHM_COLUMNS: dict[str, str] = {kind: name for name, kind in KINDS.items()}
#: Columns that every recurrence needs.
_ALWAYS_RHYTHM = frozenset({"time_zone", "begins_at"})


def _before(schedule: Schedule, workspace: Workspace) -> Schedule | None:
    others = Schedule.objects.filter(workspace=workspace)
    is_new = schedule._state.adding
    if not is_new:
        others = others.exclude(pk=schedule.pk)
    if others.filter(name=schedule.name.strip()).exists():
        raise ScheduleConflictError(
            f"The workspace already has a schedule named {schedule.name!r}: choose another name."
        )
    if is_new:
        if others.count() >= MOST:
            raise ScheduleConflictError(
                f"The workspace has {MOST} schedules, which is the limit: remove one first."
            )
        return None
    return Schedule.objects.select_for_update(no_key=True).get(pk=schedule.pk)


def _aimed(schedule: Schedule, now: datetime, *, is_new: bool) -> datetime | None:
    """Return the next occurrence from now on; earlier ones do not count."""
    if not schedule.enabled:
        return None
    slot = first_slot(schedule, now)
    if slot is None and is_new:
        raise ScheduleError("The time is in the past: give a future time.")
    return slot


def _only_pauses(before: Schedule, after: Schedule) -> bool:
    """Return True if an edit only pauses the schedule, which is allowed for an invalid one."""
    return not after.enabled and changes(before, after, _CHANGED).keys() <= {"enabled"}


def _details(schedule: Schedule) -> dict[str, Any]:
    return {
        "agent": schedule.agent.name,
        "when": schedule.cron or schedule.every_seconds or str(schedule.at),
        "time_zone": schedule.time_zone,
    }
