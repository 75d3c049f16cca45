"""Schedules of agents, and the outcomes of their occurrences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

from django.db import transaction
from django.db.models import OuterRef, Subquery
from pydantic import Field

from agents.delivery.targets import describe_targets
from agents.reads.asking import asks_of
from agents.runs.idempotency_keys import run_with, stored_key
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of
from heartbit_site.base.preview import preview
from heartbit_site.contract import schedules as contract
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.contract.operation import Answered
from heartbit_site.operations.paging import list_page, page, with_beginning
from scheduling.actions.run_schedule import backfill_schedule as backfill
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.actions.schedules import change_schedule as change
from scheduling.actions.schedules import create_schedule as create
from scheduling.actions.schedules import put
from scheduling.actions.schedules import remove_schedule as remove
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from scheduling.occurrences import build_recurrence, upcoming_occurrences
from scheduling.querysets import database_now, find_schedule, with_outcomes
from scheduling.recurrence import format_time, time_zone

S = TypeVar("S", bound=contract.ScheduleSummaryOut)
Named = Annotated[Word, Field(description="Name or number of the schedule.")]
SHOWN = 5  # slots to come


def list_schedules(
    access: Access,
    *,
    agent: Annotated[Name | None, Field(description="Filter by agent.")] = None,
    cursor: Cursor = None,
    limit: Limit = USUAL,
) -> contract.SchedulesOut:
    """Return the workspace's schedules by name, each with its next occurrence.

    A row has the beginning of its task, and no `arguments`, `input`, `test` or `deliver`:
    `GET /schedules/{schedule}` returns all of these.
    """
    rows = with_beginning(Schedule.objects.filter(workspace=access.workspace), "task")
    rows = rows.defer("arguments", "input", "test", "deliver").select_related("agent")
    if agent is not None:
        rows = rows.filter(agent__name=agent)
    found, following = page(rows, "name", cursor, limit)
    beginnings = [{"task": preview(row.task_beginning)} for row in found]
    return contract.SchedulesOut(
        schedules=_views(contract.ScheduleSummaryOut, found, beginnings), next_cursor=following
    )


def create_schedule(access: Access, body: contract.ScheduleIn) -> contract.ScheduleOut:
    """Create a schedule; its occurrences begin now. 409 if the name is taken."""
    return _whole(create(access.workspace, body.model_dump(), by=actor_of(access)))


def preview_schedule(access: Access, body: contract.RecurrenceIn) -> contract.RecurrenceOut:
    """Return a recurrence as text with its next occurrences; nothing is stored."""
    now = database_now()
    row = Schedule()
    put(row, body.model_dump())
    row.begins_at = body.begins_at or now.replace(microsecond=0)
    return _rhythm(row, now)


def show_schedule(access: Access, schedule: Named) -> contract.ScheduleOut:
    """Return a schedule, its next occurrences, and the outcome of the latest one."""
    return _whole(find_schedule(access.workspace, schedule))


def change_schedule(
    access: Access, schedule: Named, body: contract.ScheduleChangeIn
) -> contract.ScheduleOut:
    """Change the given settings. A new recurrence, or an enabled schedule, counts from now."""
    row = find_schedule(access.workspace, schedule)
    return _whole(change(row, body.model_dump(exclude_unset=True), by=actor_of(access)))


def remove_schedule(access: Access, schedule: Named) -> None:
    """Delete a schedule and its log of firings; its runs stay."""
    remove(find_schedule(access.workspace, schedule), by=actor_of(access))


@transaction.atomic
def run_schedule(
    access: Access, schedule: Named, idempotency_key: Word | None = None
) -> contract.ScheduledRunOut | Answered[contract.ScheduledRunOut]:
    """Start a run now, besides the schedule's occurrences, even while it is paused.

    200 instead of 201 if the idempotency key was used before.
    """
    key = stored_key(idempotency_key or None)
    row = find_schedule(access.workspace, schedule)
    done = run_with(access.workspace, key)
    if done is not None:
        return Answered(200, contract.ScheduledRunOut(run_id=str(done)))
    return contract.ScheduledRunOut(run_id=str(run_schedule_now(row, by=actor_of(access), key=key)))


def backfill_schedule(
    access: Access, schedule: Named, body: contract.BackfillIn
) -> contract.BackfilledOut:
    """Run the missing occurrences of a past span, one after the other; 409 if there are none.

    While the schedule is paused, none of them starts.
    """
    row = find_schedule(access.workspace, schedule)
    return contract.BackfilledOut(
        firings_created=backfill(row, body.begin, body.end, by=actor_of(access))
    )


def list_firings(
    access: Access,
    schedule: Named,
    *,
    status: contract.FiringState | None = None,
    cursor: Cursor = None,
    limit: Limit = USUAL,
) -> contract.FiringsOut:
    """Return a schedule's firings, the latest first."""
    row = find_schedule(access.workspace, schedule)
    rows = with_outcomes(Firing.objects.filter(schedule=row))
    if status is not None:
        rows = rows.filter(status=status)
    return list_page(contract.FiringsOut, rows, "-scheduled_for", cursor, limit)


def _whole(row: Schedule) -> contract.ScheduleOut:
    [recipients] = describe_targets([row.deliver])
    asks = asks_of(row.agent, approve=row.require_approval, tool=row.tool)
    facts = {"task_characters": len(row.task), "recipients": recipients, "asks": asks}
    [view] = _views(contract.ScheduleOut, [row], [facts])
    return view


def _views(view: type[S], rows: Sequence[Any], more: Sequence[Mapping[str, Any]]) -> list[S]:
    """Return the views of schedules with their agents loaded; ``more`` is about their tasks."""
    latest = _latest(rows)
    now = database_now()
    found = []
    for row, facts in zip(rows, more, strict=True):
        due = _due(row, now)
        found.append(
            view.of(
                row,
                **facts,
                cron=row.cron or None,
                description=due.description,
                upcoming=due.upcoming,
                last=latest.get(row.pk),
            )
        )
    return found


def _latest(rows: Sequence[Schedule]) -> dict[int, contract.FiringOut]:
    """Return the latest firing of each schedule that has one."""
    newest = (
        Firing.objects.filter(schedule=OuterRef("pk")).order_by("-scheduled_for").values("pk")[:1]
    )
    ids = Schedule.objects.filter(pk__in=[row.pk for row in rows]).values(latest=Subquery(newest))
    found = with_outcomes(Firing.objects.filter(pk__in=ids))
    return {one.schedule_id: contract.FiringOut.of(one) for one in found}


def _due(row: Schedule, now: datetime) -> contract.RecurrenceOut:
    try:
        return _rhythm(row, now)
    except ScheduleError as error:  # a time zone that this machine does not know, for one
        return contract.RecurrenceOut(description=str(error), upcoming=[])


def _rhythm(row: Schedule, now: datetime) -> contract.RecurrenceOut:
    """Return the next occurrences of a schedule, saved or not.

    Raises:
        ScheduleError: Its recurrence is not valid.
    """
    zone = time_zone(row.time_zone)
    slots = upcoming_occurrences(row, now, SHOWN) if row.enabled else []
    return contract.RecurrenceOut(
        description=build_recurrence(row).words,
        upcoming=[
            contract.OccurrenceOut(at=slot, text=format_time(slot, zone, seconds=row.has_seconds))
            for slot in slots
        ],
    )
