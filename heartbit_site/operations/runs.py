"""Runs: start, list, look, wait, cancel, steer; settle those that killed their workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from pydantic import Field

from agents.actions import cancel_run as cancelling
from agents.actions import retry_run as retrying
from agents.actions import start_run as starting
from agents.actions import steer_run as steering
from agents.actions.create_default_team import ORCHESTRATOR
from agents.actions.create_deliveries import create_deliveries
from agents.actions.discard_run import discard_run as discard
from agents.actions.post_message import post_message
from agents.actions.unquarantine_run import unquarantine_run as unquarantine
from agents.choices import TERMINAL, Placement
from agents.delivery.targets import check_targets
from agents.errors import ConversationBusyError
from agents.models import Run
from agents.output.payload import parse
from agents.querysets import find_run, find_run_status, id_range
from agents.reads.outcome import read_outcome
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, starter_of
from heartbit_site.contract.model import Cursor, Limit, Name, Word
from heartbit_site.contract.operation import Answered, PendingAnswer
from heartbit_site.contract.runs import (
    MAX_WAIT_SECONDS,
    RunDetailOut,
    RunIn,
    RunPageOut,
    RunResultOut,
    RunStateOut,
    RunViewOut,
    Status,
    SteerIn,
)
from heartbit_site.operations.idempotency import run_with
from heartbit_site.operations.messages_of_conversations import find_conversation
from heartbit_site.operations.paging import page
from heartbit_site.operations.run_views import (
    costs_of,
    detail,
    detail_of_new,
    detail_of_root,
    seen,
    summaries,
    summary,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agents.delivery.targets import Target


Wait = Annotated[
    float, Field(ge=0, le=MAX_WAIT_SECONDS, description="Seconds to wait for its end.")
]


def start_run(
    access: Access, body: RunIn, idempotency_key: Word | None = None, *, wait: Wait = 0
) -> RunDetailOut | Answered[RunDetailOut] | PendingAnswer[RunDetailOut]:
    """Accept a task. 200 instead of 201 when the idempotency key had been used before.

    With `wait` the answer comes once the run has ended, with its result, or is 202.
    """
    is_new, run_id = accept(access, body, idempotency_key or None)
    status = 201 if is_new else 200

    if not wait:
        return Answered(status, detail_of_new(run_id) if is_new else _detail(access, run_id))

    def read() -> Answered[RunDetailOut]:
        run = detail_of_root(run_id) if is_new else _detail(access, run_id)
        return Answered(202 if run.result is None else status, run)

    return PendingAnswer(run_id, wait, read)


def _detail(access: Access, run_id: UUID) -> RunDetailOut:
    return detail(find_run(access.workspace, run_id))


def accept(access: Access, body: RunIn, key: str | None, *, origin: str = "") -> tuple[bool, UUID]:
    """Accept a task.

    Args:
        access: The caller.
        body: The task.
        key: The idempotency key.
        origin: Whose agents are meant, as ``Agent.origin`` says; empty: the workspace's own.

    Returns:
        Whether the run is new, and its id.
    """
    workspace, by = access.workspace, starter_of(access)
    targets = check_targets(workspace, body.deliver)
    if key is None and body.conversation_id is None and not targets:
        # One statement, which is atomic by itself.
        return True, _start(access, body, key, origin=origin)
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
                approve=body.require_approval,
            )
            if posted.outcome == "steered":
                _refuse_to_deliver(posted.run_id, targets)  # undoes the message
                return False, posted.run_id
            create_deliveries(posted.run_id, workspace, targets)
            return True, posted.run_id
        run_id = _start(access, body, key, origin=origin)
        create_deliveries(run_id, workspace, targets)
    return True, run_id


def _start(access: Access, body: RunIn, key: str | None, *, origin: str) -> UUID:
    return starting.start_run(
        access.workspace,
        body.task,
        agent=body.agent or ORCHESTRATOR,
        model=body.model,
        priority=body.priority,
        idempotency_key=key,
        origin=origin,
        approve=body.require_approval,
        payload=parse(body.payload) if body.payload is not None else None,
        by=starter_of(access),
    )


def list_runs(
    access: Access,
    *,
    limit: Limit = 20,
    cursor: Cursor = None,
    agent: Name | None = None,
    status: Status | None = None,
    text: Annotated[
        Word | None, Field(description="In the task or the agent's name, or how the id begins.")
    ] = None,
    children: Annotated[bool, Field(description="List runs of sub-agents as well.")] = False,
    mine: Annotated[bool, Field(description="List only runs that the caller started.")] = False,
) -> RunPageOut:
    """Return runs, the newest first; those of sub-agents are listed on request.

    A row has the beginning of its task and no answer: `GET /runs/{id}` has all of both.
    """
    rows = Run.objects.filter(workspace=access.workspace)
    if mine:
        rows = rows.filter(_started_by(access))
    if not children:
        rows = rows.filter(parent__isnull=True)
    if text:
        rows = rows.filter(_says(text))
    if agent is not None:
        rows = rows.filter(agent=agent)
    if status is not None:
        rows = rows.filter(status=status)
    found, following = page(summaries(rows), "-pk", cursor, limit)  # the ids are time-ordered
    costs = costs_of(found)
    return RunPageOut(runs=[summary(run, costs) for run in found], next_cursor=following)


def show_run(access: Access, run_id: Word) -> RunViewOut:
    """Return a run with its sub-agents and its result; the beginning of its id is enough."""
    return seen(find_run(access.workspace, run_id))


def wait_for_result(
    access: Access, run_id: Word, *, wait: Wait = 0
) -> RunResultOut | Answered[RunResultOut] | PendingAnswer[RunResultOut]:
    """Return the result of a run; 202 and no result as long as the run has not ended."""
    pk, status = find_run_status(access.workspace, run_id)
    if status in TERMINAL:
        return _result_of(pk)
    if wait:
        return PendingAnswer(pk, wait, lambda: _answered(_result_of(pk)))
    return _answered(RunResultOut(id=str(pk), status=status, result=None))


def _answered(view: RunResultOut) -> Answered[RunResultOut]:
    return Answered(202 if view.result is None else 200, view)


def _result_of(pk: UUID) -> RunResultOut:
    outcome = read_outcome(pk)
    return RunResultOut.of({}, pk=pk, status=outcome.status, result=outcome.result)


def cancel_run(access: Access, run_id: Word) -> RunStateOut:
    """Cancel a run: without a worker at once, else within a second; an ended one stays."""
    run, by = find_run(access.workspace, run_id), actor_of(access)
    cancelling.cancel_run(access.workspace, run.pk, reason=f"cancelled by {by.name}", by=by)
    return _state(run)


def steer_run(access: Access, run_id: Word, body: SteerIn) -> RunStateOut:
    """Send a text to a run; its next model call reads it."""
    run = find_run(access.workspace, run_id)
    steering.steer_run(run, body.text, by=actor_of(access))
    return RunStateOut.of(run)


def retry_run(access: Access, run_id: Word) -> RunStateOut:
    """Start a run with its task on its version; a quarantined run is discarded with it."""
    run = find_run(access.workspace, run_id)
    # Whoever asks at a terminal can resume a local run there.
    home = Placement(run.home) if access.via == "terminal" else Placement.FLEET
    again = retrying.retry_run(run, by=starter_of(access), home=home)
    return RunStateOut.of(Run.objects.get(pk=again))


def unquarantine_run(access: Access, run_id: Word) -> RunStateOut:
    """Resume a quarantined run in a process of its own; 409 when it is not in quarantine."""
    run = find_run(access.workspace, run_id)
    unquarantine(run, by=actor_of(access))
    return _state(run)


def discard_run(access: Access, run_id: Word) -> RunStateOut:
    """Cancel a quarantined run; 409 when it is not in quarantine."""
    run = find_run(access.workspace, run_id)
    discard(run, by=actor_of(access))
    return _state(run)


def _state(run: Run) -> RunStateOut:
    run.refresh_from_db(fields=["status"])
    return RunStateOut.of(run)


def _refuse_to_deliver(run_id: UUID, targets: Sequence[Target]) -> None:
    """Refuse deliveries for a steered run: its result goes to the run's own recipients only."""
    if targets:
        raise ConversationBusyError(
            f"The conversation is busy with run {run_id}, which would be told: the message gets no "
            "result of its own that could be delivered. Wait for it, or leave out deliver."
        )


def _started_by(access: Access) -> Q:
    """Return the runs that a person or a key started; a key has its name alone."""
    if access.user_id is None or access.key_id is not None:
        return Q(started_by=access.name, started_user__isnull=True)
    return Q(started_user=access.user_id)


def _says(text: str) -> Q:
    """Runs that a person would find by these words."""
    found = Q(task__icontains=text) | Q(agent__icontains=text)
    span = id_range(text)
    return found if span is None else found | Q(pk__range=span)
