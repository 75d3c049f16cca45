"""Runs: start, list, look, wait, cancel, steer."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Annotated, Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest  # noqa: TC002  ninja evaluates the annotations
from ninja import Query, Router
from ninja.responses import Status as Answer

from agents.actions.cancel_run import cancel_run
from agents.actions.create_default_team import ORCHESTRATOR
from agents.actions.order_deliveries import order_deliveries
from agents.actions.post_message import post_message
from agents.actions.start_run import start_run
from agents.actions.steer_run import steer_run
from agents.choices import TERMINAL
from agents.delivery.targets import check_targets
from agents.errors import ConversationBusyError
from agents.forks import forks_of
from agents.live.follow import wait_for_end
from agents.live.valkey import ValkeySource, connect
from agents.models import Run, WorkerHeartbeat
from agents.pauses import why_held
from agents.payload import parse
from agents.querysets import find_run, id_range, tree
from heartbit_site.api import forms
from heartbit_site.api.auth import (
    READ_RUNS,
    WRITE_RUNS,
    access_of,
    starter_of,
    workspace_of,
)
from heartbit_site.api.idempotency import IdempotencyKey  # noqa: TC001
from heartbit_site.api.inputs import RunIn, SteerIn  # noqa: TC001
from heartbit_site.api.openapi import answers
from heartbit_site.api.outputs import (
    RunDetailOut,
    RunPageOut,
    RunResultOut,
    RunSeenOut,
    RunStateOut,
    Status,
)
from heartbit_site.api.results import result_of
from heartbit_site.api.threads import find_conversation
from heartbit_site.base import orm
from heartbit_site.base.audit import actor_of
from heartbit_site.contract.model import Name, Word  # noqa: TC001
from heartbit_site.operations.idempotency import run_with

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from agents.delivery.targets import Target
    from heartbit_site.base.access import Access
    from heartbit_site.base.audit import Actor
    from heartbit_site.base.models import Workspace

router = Router(tags=["runs"])

MAX_WAIT_SECONDS = 60


@router.post(
    "/runs",
    auth=WRITE_RUNS,
    response={200: RunDetailOut, **answers(RunDetailOut, 404, 409, status=201, body=True)},
    summary="Start a run",
)
async def start(request: HttpRequest, body: RunIn, idempotency_key: IdempotencyKey = None) -> Any:
    """Accept a task. 200 instead of 201 when the idempotency key had been used before."""
    workspace = workspace_of(request)
    starter = starter_of(request)

    def accept() -> tuple[bool, dict[str, Any]]:
        is_new, run_id = _accept(workspace, body, idempotency_key or None, starter)
        return is_new, detail(find_run(workspace, run_id))

    is_new, run = await orm.in_thread(accept)
    return Answer(201 if is_new else 200, run)


def _accept(workspace: Workspace, body: RunIn, key: str | None, by: Actor) -> tuple[bool, UUID]:
    """Whether the run is new, and its id."""
    payload = parse(body.payload) if body.payload is not None else None
    targets = check_targets(workspace, body.deliver)
    with transaction.atomic():
        used = run_with(workspace, key)
        if used is not None:
            return False, used
        if body.conversation_id is not None:
            posted = post_message(
                find_conversation(workspace, body.conversation_id),
                body.task,
                by=by,
                model=body.model,
                idempotency_key=key,
                approve=body.approve,
            )
            if posted.outcome == "steered":
                _refuse_to_deliver(posted.run_id, targets)  # undoes the message
                return False, posted.run_id
            order_deliveries(posted.run_id, workspace, targets)
            return True, posted.run_id
        run_id = start_run(
            workspace,
            body.task,
            agent=body.agent or ORCHESTRATOR,
            model=body.model,
            priority=body.priority,
            idempotency_key=key,
            approve=body.approve,
            payload=payload,
            by=by,
        )
        order_deliveries(run_id, workspace, targets)
    return True, run_id


def _refuse_to_deliver(run_id: UUID, targets: Sequence[Target]) -> None:
    """The result of a run that was told something goes where it was ordered, and nowhere else."""
    if targets:
        raise ConversationBusyError(
            f"The conversation is busy with run {run_id}, which would be told: the message gets no "
            "result of its own that could be delivered. Wait for it, or leave out deliver."
        )


@router.get("/runs", auth=READ_RUNS, response=answers(RunPageOut, 404), summary="List runs")
async def list_runs(
    request: HttpRequest,
    *,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
    cursor: Annotated[Word | None, Query(description="`next` of the page before.")] = None,
    agent: Name | None = None,
    status: Status | None = None,
    text: Annotated[
        Word | None, Query(description="In the task or the agent's name, or how the id begins.")
    ] = None,
    children: Annotated[bool, Query(description="Also the runs of sub-agents.")] = False,
    mine: Annotated[
        bool, Query(description="Those that you started, or the key that you ask with.")
    ] = False,
) -> Any:
    """The newest first; sub-agents are in the tree of their run, and listed if asked for.

    A row has the beginning of its task and no answer: `GET /runs/{id}` has all of both.
    """
    access = access_of(request)
    workspace = access.workspace

    def read() -> dict[str, Any]:
        runs = Run.objects.filter(workspace=workspace)
        if mine:
            runs = runs.filter(_started_by(access))
        if not children:
            runs = runs.filter(parent__isnull=True)
        if text:
            runs = runs.filter(_says(text))
        if agent is not None:
            runs = runs.filter(agent=agent)
        if status is not None:
            runs = runs.filter(status=status)
        if cursor is not None:
            runs = runs.filter(pk__lt=find_run(workspace, cursor).pk)
        page = list(forms.summaries(runs).order_by("-pk")[: limit + 1])  # the ids are time-ordered
        more, page = len(page) > limit, page[:limit]
        costs = forms.costs_of(page)
        rows = [forms.run_summary(run, costs) for run in page]
        return {"runs": rows, "next": str(page[-1].pk) if more else None}

    return await orm.in_thread(read)


def _started_by(access: Access) -> Q:
    """Runs that somebody started; a key has its name alone."""
    if access.key_id is None:
        return Q(started_user=access.user_id)
    return Q(started_by=access.name, started_user__isnull=True)


def _says(text: str) -> Q:
    """Runs that a person would find by these words."""
    found = Q(task__icontains=text) | Q(agent__icontains=text)
    span = id_range(text)
    return found if span is None else found | Q(pk__range=span)


@router.get("/runs/{run_id}", auth=READ_RUNS, response=answers(RunSeenOut, 404), summary="A run")
async def show(request: HttpRequest, run_id: Word) -> Any:
    """A run with its sub-agents and its result; the beginning of its id is enough."""
    workspace = workspace_of(request)

    def read() -> dict[str, Any]:
        run = find_run(workspace, run_id)
        forks = [{"run": str(fork), "turn": turn} for fork, turn in forks_of(run.pk)]
        return {**detail(run), "held": why_held(run), "forks": forks}

    return await orm.in_thread(read)


@router.get(
    "/runs/{run_id}/result",
    auth=READ_RUNS,
    response={202: RunResultOut, **answers(RunResultOut, 404)},
    summary="Wait for a result",
)
async def result(
    request: HttpRequest,
    run_id: Word,
    *,
    wait: Annotated[
        float, Query(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait for its end.")
    ] = 0,
) -> Any:
    """The result form; 202 and no result as long as the run has not ended."""
    workspace = workspace_of(request)
    run = await orm.in_thread(lambda: find_run(workspace, run_id))
    if wait and run.status not in TERMINAL:
        run = await _ended(run, wait)

    def read() -> dict[str, Any]:
        return {"run": str(run.pk), "status": run.status, "result": result_of(run)}

    return Answer(200 if run.status in TERMINAL else 202, await orm.in_thread(read))


async def _ended(run: Run, seconds: float) -> Run:
    """The run when it has ended, or as it was after so long."""
    client = connect(settings.REDIS_URL)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await wait_for_end(run.pk, ValkeySource(client))
    finally:
        await client.aclose()
    return await orm.in_thread(lambda: Run.objects.get(pk=run.pk))


@router.post(
    "/runs/{run_id}/cancel",
    auth=WRITE_RUNS,
    response=answers(RunStateOut, 404),
    summary="Cancel a run",
)
async def cancel(request: HttpRequest, run_id: Word) -> Any:
    """A run without a worker ends at once, one at work within a second; an ended one stays."""
    workspace = workspace_of(request)
    by = actor_of(access_of(request))

    def end() -> dict[str, Any]:
        run = find_run(workspace, run_id)
        cancel_run(workspace, run.pk, reason=f"cancelled by {by.name}", by=by)
        run.refresh_from_db(fields=["status"])
        return {"run": str(run.pk), "status": run.status}

    return await orm.in_thread(end)


@router.post(
    "/runs/{run_id}/messages",
    auth=WRITE_RUNS,
    response=answers(RunStateOut, 404, 409, body=True),
    summary="Tell a run something",
)
async def steer(request: HttpRequest, run_id: Word, body: SteerIn) -> Any:
    """Its next model call sees it."""
    workspace = workspace_of(request)
    by = actor_of(access_of(request))

    def tell() -> dict[str, Any]:
        run = find_run(workspace, run_id)
        steer_run(run, body.text, by=by)
        return {"run": str(run.pk), "status": run.status}

    return await orm.in_thread(tell)


def detail(run: Run) -> dict[str, Any]:
    """A run as it is answered alone: with its tree and its result."""
    rows = tree(run.root_id)
    row = next(row for row in rows if row.pk == run.pk)  # of the same moment as the others
    costs = forms.costs_of(rows)
    return {
        **forms.run_tree(row, rows, costs),
        "result": result_of(row),
        "has_worker": WorkerHeartbeat.objects.serving(row.queue).exists(),
    }
