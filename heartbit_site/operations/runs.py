"""Runs: start, cancel, steer and retry; resolve quarantined runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from django.db import transaction

from agents.actions import cancel_run as cancelling
from agents.actions import retry_run as retrying
from agents.actions import start_run as starting
from agents.actions import steer_run as steering
from agents.actions.create_default_team import ORCHESTRATOR
from agents.actions.create_deliveries import create_deliveries
from agents.actions.discard_run import discard_run as discard
from agents.actions.post_message import post_message
from agents.actions.unquarantine_run import unquarantine_run as unquarantine
from agents.choices import Placement
from agents.delivery.targets import check_targets
from agents.errors import ConversationBusyError
from agents.models import Run
from agents.output.payload import parse
from agents.querysets import find_run
from agents.runtime.folder import Folder
from agents.runtime.given_files import decode
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, starter_of
from heartbit_site.contract.model import Word
from heartbit_site.contract.operation import Answered, PendingAnswer
from heartbit_site.contract.runs import RunDetailOut, RunIn, RunStateOut, SteerIn
from heartbit_site.operations.idempotency import run_with
from heartbit_site.operations.messages_of_conversations import find_conversation
from heartbit_site.operations.pending import read_at_end
from heartbit_site.operations.run_reads import Wait
from heartbit_site.operations.run_views import detail, detail_of_new, detail_of_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agents.delivery.targets import Target


def start_run(
    access: Access, body: RunIn, idempotency_key: Word | None = None, *, wait: Wait = 0
) -> RunDetailOut | Answered[RunDetailOut] | PendingAnswer[RunDetailOut]:
    """Accept a task. 200 instead of 201 if the idempotency key was used before.

    With `wait`, respond with the result once the run has ended, else with 202.
    """
    is_new, run_id = accept(access, body, idempotency_key or None)
    status = 201 if is_new else 200

    if not wait:
        return Answered(status, detail_of_new(run_id) if is_new else _detail(access, run_id))

    def read() -> Answered[RunDetailOut]:
        run = detail_of_root(run_id) if is_new else _detail(access, run_id)
        return Answered(202 if run.result is None else status, run)

    return PendingAnswer(lambda: read_at_end(run_id, wait, read))


def _detail(access: Access, run_id: UUID) -> RunDetailOut:
    return detail(find_run(access.workspace, run_id))


def accept(access: Access, body: RunIn, key: str | None, *, origin: str = "") -> tuple[bool, UUID]:
    """Accept a task.

    Args:
        access: The caller.
        body: The task.
        key: The idempotency key.
        origin: Origin of the agents (``Agent.origin``); empty: the workspace's own.

    Returns:
        True if the run is new, and its id.
    """
    workspace, by = access.workspace, starter_of(access)
    targets = check_targets(workspace, body.deliver)
    files = decode(body.files, body.archive)
    if key is None and body.conversation_id is None and not targets:
        # One statement, which is atomic by itself.
        return True, _start(access, body, key, origin=origin, files=files)
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
                _refuse_to_give(posted.run_id, files)
                return False, posted.run_id
            Folder.give(posted.run_id, files)
            create_deliveries(posted.run_id, workspace, targets)
            return True, posted.run_id
        run_id = _start(access, body, key, origin=origin, files=files)
        create_deliveries(run_id, workspace, targets)
    return True, run_id


def _start(
    access: Access, body: RunIn, key: str | None, *, origin: str, files: Mapping[str, bytes]
) -> UUID:
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
        files=files,
    )


def cancel_run(access: Access, run_id: Word) -> RunStateOut:
    """Cancel a run: at once without a worker, else within a second; an ended run is unchanged."""
    run, by = find_run(access.workspace, run_id), actor_of(access)
    cancelling.cancel_run(access.workspace, run.pk, reason=f"cancelled by {by.name}", by=by)
    return _state(run)


def steer_run(access: Access, run_id: Word, body: SteerIn) -> RunStateOut:
    """Send a text to a run, for its next model call."""
    run = find_run(access.workspace, run_id)
    steering.steer_run(run, body.text, by=starter_of(access))
    return RunStateOut.of(run)


def retry_run(access: Access, run_id: Word) -> RunStateOut:
    """Start a new run with the same task and version; a quarantined run is discarded."""
    run = find_run(access.workspace, run_id)
    # Whoever asks at a terminal can resume a local run there.
    home = Placement(run.home) if access.via == "terminal" else Placement.FLEET
    again = retrying.retry_run(run, by=starter_of(access), home=home)
    return RunStateOut.of(Run.objects.get(pk=again))


def unquarantine_run(access: Access, run_id: Word) -> RunStateOut:
    """Resume a quarantined run in its own process; 409 if it is not quarantined."""
    run = find_run(access.workspace, run_id)
    unquarantine(run, by=actor_of(access))
    return _state(run)


def discard_run(access: Access, run_id: Word) -> RunStateOut:
    """Cancel a quarantined run; 409 if it is not quarantined."""
    run = find_run(access.workspace, run_id)
    discard(run, by=actor_of(access))
    return _state(run)


def _state(run: Run) -> RunStateOut:
    run.refresh_from_db(fields=["status"])
    return RunStateOut.of(run)


def _refuse_to_deliver(run_id: UUID, targets: Sequence[Target]) -> None:
    """Refuse deliveries for a steered run, whose result has its own recipients."""
    if targets:
        raise ConversationBusyError(
            f"The message would steer the active run {run_id}, so it has no result to deliver. "
            f"Wait for it, or leave out deliver."
        )


def _refuse_to_give(run_id: UUID, files: Mapping[str, bytes]) -> None:
    """Refuse files for a steered run: they would change its folder while it works."""
    if files:
        raise ConversationBusyError(
            f"The message would steer the active run {run_id}, whose folder accepts no files. Wait "
            "for it, or leave out files and archive."
        )
