"""Schedules: what agents do by the clock, and what became of it."""

from __future__ import annotations

from typing import Annotated, Any

from django.db import transaction
from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Path, Query, Router
from ninja.responses import Status as Answer

from heartbit_site.api import schedule_forms as forms
from heartbit_site.api.auth import (
    READ_AGENTS,
    WRITE_AGENTS,
    WRITE_RUNS,
    WRITE_SCHEDULES,
    access_of,
    workspace_of,
)
from heartbit_site.api.idempotency import IdempotencyKey  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.api.schedule_edits import change_schedule, make_schedule, preview_rhythm
from heartbit_site.api.schedule_inputs import (  # noqa: TC001  ninja evaluates the annotations
    RhythmIn,
    ScheduleChangeIn,
    ScheduleIn,
    SpanIn,
)
from heartbit_site.api.schedule_outputs import (
    BackfilledOut,
    FiringsOut,
    FiringState,
    RhythmOut,
    ScheduledRunOut,
    ScheduleOut,
    SchedulesOut,
)
from heartbit_site.base import orm
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name, Word
from heartbit_site.operations.idempotency import run_with
from heartbit_site.operations.paging import page
from scheduling.actions.backfill_schedule import backfill_schedule
from scheduling.actions.remove_schedule import remove_schedule
from scheduling.actions.run_schedule_now import run_schedule_now
from scheduling.models import Firing, Schedule
from scheduling.outcomes import with_outcomes
from scheduling.querysets import find_schedule

router = Router(tags=["schedules"])

Named = Annotated[Word, Path(description="Its name, or its number.")]


@router.get(
    "/schedules", auth=READ_AGENTS, response=answers(SchedulesOut), summary="List schedules"
)
async def schedules(
    request: HttpRequest,
    *,
    agent: Annotated[Name | None, Query(description="Only this agent's.")] = None,
    cursor: Cursor = None,
    limit: Limit = USUAL,
) -> Any:
    """The workspace's schedules by name, each with what comes next.

    A row has the beginning of its task, and neither `arguments` nor `deliver`:
    `GET /schedules/{schedule}` has all of these.
    """
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = forms.summaries(Schedule.objects.filter(workspace=workspace))
        if agent is not None:
            rows = rows.filter(agent__name=agent)
        found, following = page(rows, "name", cursor, limit)
        return {"schedules": forms.schedule_summaries(found), "next": following}

    return await orm.in_thread(read)


@router.post(
    "/schedules",
    auth=WRITE_SCHEDULES,
    response=answers(ScheduleOut, 409, status=201, body=True),
    summary="Make a schedule",
)
async def create(request: HttpRequest, body: ScheduleIn) -> Any:
    """It comes due from now on; 409 when the name is taken."""
    access = access_of(request)

    def make() -> dict[str, Any]:
        return forms.schedule(make_schedule(access.workspace, body, by=actor_of(access)))

    return Answer(201, await orm.in_thread(make))


@router.post(
    "/rhythms/preview",
    auth=READ_AGENTS,
    response=answers(RhythmOut, body=True),
    summary="Try a rhythm",
)
async def preview(request: HttpRequest, body: RhythmIn) -> Any:
    """When something would come due, in words, and next; nothing is stored."""
    return await orm.in_thread(lambda: preview_rhythm(body))


@router.get(
    "/schedules/{schedule}",
    auth=READ_AGENTS,
    response=answers(ScheduleOut),
    summary="A schedule",
)
async def show(request: HttpRequest, schedule: Named) -> Any:
    """A schedule, what comes next, and what became of its latest slot."""
    workspace = workspace_of(request)
    return await orm.in_thread(lambda: forms.schedule(find_schedule(workspace, schedule)))


@router.patch(
    "/schedules/{schedule}",
    auth=WRITE_SCHEDULES,
    response=answers(ScheduleOut, 409, body=True),
    summary="Change a schedule",
)
async def change(request: HttpRequest, schedule: Named, body: ScheduleChangeIn) -> Any:
    """What is given is changed. Another rhythm, or `enabled` again, counts from now."""
    access = access_of(request)

    def save() -> dict[str, Any]:
        by = actor_of(access)
        return forms.schedule(change_schedule(access.workspace, schedule, body, by=by))

    return await orm.in_thread(save)


@router.delete(
    "/schedules/{schedule}",
    auth=WRITE_AGENTS,
    response=answers(None, status=204),
    summary="Remove a schedule",
)
async def remove(request: HttpRequest, schedule: Named) -> Any:
    """What became of its slots goes with it; its runs stay."""
    access = access_of(request)
    await orm.in_thread(
        lambda: remove_schedule(find_schedule(access.workspace, schedule), by=actor_of(access))
    )
    return Answer(204, None)


@router.post(
    "/schedules/{schedule}/run",
    auth=WRITE_RUNS,
    response={200: ScheduledRunOut, **answers(ScheduledRunOut, 409, status=201)},
    summary="Run a schedule now",
)
async def run(request: HttpRequest, schedule: Named, idempotency_key: IdempotencyKey = None) -> Any:
    """Once, beside its slots, also while it is paused.

    200 instead of 201 when the idempotency key had been used before.
    """
    access = access_of(request)

    def start() -> tuple[bool, str]:
        key = idempotency_key or None
        with transaction.atomic():
            found = find_schedule(access.workspace, schedule)
            done = run_with(access.workspace, key)
            if done is not None:
                return False, str(done)
            return True, str(run_schedule_now(found, by=actor_of(access), key=key))

    is_new, run_id = await orm.in_thread(start)
    return Answer(201 if is_new else 200, {"run": run_id})


@router.post(
    "/schedules/{schedule}/backfill",
    auth=WRITE_RUNS,
    response=answers(BackfilledOut, 409, body=True),
    summary="Make up for past slots",
)
async def backfill(request: HttpRequest, schedule: Named, body: SpanIn) -> Any:
    """Slots of the span that have no run get one, one after the other; 409 when there are none.

    While the schedule is paused none of them starts.
    """
    access = access_of(request)

    def hold() -> int:
        found = find_schedule(access.workspace, schedule)
        return backfill_schedule(found, *body.both(), by=actor_of(access))

    return {"slots": await orm.in_thread(hold)}


@router.get(
    "/schedules/{schedule}/firings",
    auth=READ_AGENTS,
    response=answers(FiringsOut),
    summary="List firings",
)
async def firings(
    request: HttpRequest,
    schedule: Named,
    *,
    status: FiringState | None = None,
    cursor: Cursor = None,
    limit: Limit = USUAL,
) -> Any:
    """What became of a schedule's slots, the latest first."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        rows = with_outcomes(Firing.objects.filter(schedule=find_schedule(workspace, schedule)))
        if status is not None:
            rows = rows.filter(status=status)
        found, following = page(rows, "-slot", cursor, limit)
        return {"firings": forms.firings(found), "next": following}

    return await orm.in_thread(read)
