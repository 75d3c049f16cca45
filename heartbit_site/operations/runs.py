"""Runs: start, cancel, steer and retry; resolve quarantined runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from uuid import UUID

from agents.actions import runs as actions
from agents.actions.admit import Admitted, admit
from agents.actions.run_request import RunRequest
from agents.actions.write_agents import ORCHESTRATOR
from agents.choices import Placement
from agents.delivery.targets import check_targets
from agents.models import Run
from agents.output.payload import parse
from agents.querysets import find_any_run, find_run
from agents.runtime.files.given_files import decode
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, starter_of
from heartbit_site.base.pictures import Picture
from heartbit_site.contract.model import Word
from heartbit_site.contract.operation import Answered, PendingAnswer
from heartbit_site.contract.runs import RunDetailOut, RunIn, RunStateOut, SteerIn
from heartbit_site.operations.attached import after_reading, attachments
from heartbit_site.operations.messages_of_conversations import find_conversation
from heartbit_site.operations.run_reads import Wait, read_at_end
from heartbit_site.operations.run_views import detail, detail_of_new, detail_of_root


def start_run(
    access: Access, body: RunIn, idempotency_key: Word | None = None, *, wait: Wait = 0
) -> RunDetailOut | Answered[RunDetailOut] | PendingAnswer[RunDetailOut]:
    """Accept a task. 200 instead of 201 if the idempotency key was used before.

    With `wait`, respond with the result once the run has ended, else with 202.
    """
    given = attachments(access, body.images, body.documents)
    if given is None:
        return _started(access, body, idempotency_key, wait, (body.task, ()))
    return after_reading(
        access,
        partial(given.read_beside, body.task),
        lambda read: _started(access, body, idempotency_key, wait, read),
    )


def _started(
    access: Access,
    body: RunIn,
    key: str | None,
    wait: float,
    read: tuple[str, Sequence[Picture]],
) -> Answered[RunDetailOut] | PendingAnswer[RunDetailOut]:
    made = accept(access, body, key or None, read)
    run_id, status = made.run_id, 201 if made.is_new else 200

    if not wait:
        return Answered(status, detail_of_new(run_id) if made.is_new else _detail(access, run_id))

    def read_again() -> Answered[RunDetailOut]:
        run = detail_of_root(run_id) if made.is_new else _detail(access, run_id)
        return Answered(202 if run.result is None else status, run)

    return PendingAnswer(lambda: read_at_end(run_id, wait, read_again))


def _detail(access: Access, run_id: UUID) -> RunDetailOut:
    return detail(find_run(access, run_id))


def accept(
    access: Access,
    body: RunIn,
    key: str | None,
    read: tuple[str, Sequence[Picture]],
    *,
    origin: str = "",
) -> Admitted:
    """Accept a task.

    Args:
        access: The caller.
        body: The task.
        key: The idempotency key.
        read: The task with its documents, and its pictures, as ``Attachments.read_beside`` returns
            them.
        origin: Whose agents are meant, as ``Agent.origin`` says; empty: the workspace's own.
    """
    workspace, thread = access.workspace, body.conversation_id
    text, pictures = read
    request = RunRequest(
        workspace,
        text,
        agent=body.agent or ORCHESTRATOR,
        origin=origin,
        payload=parse(body.payload) if body.payload is not None else None,
        conversation=None if thread is None else find_conversation(access, thread),
        model=body.model,
        priority=body.priority,
        approve=body.require_approval,
        review=body.review,
        idempotency_key=key,
        by=starter_of(access),
        pictures=pictures,
        files=decode(body.files, body.archive),
        deliveries=check_targets(workspace, body.deliver),
    )
    return admit(request)


def cancel_run(access: Access, run_id: Word) -> RunStateOut:
    """Cancel a run: at once without a worker, else within a second; an ended run is unchanged.

    Those who manage the workspace cancel private runs of others too, which they cannot read.
    """
    manages = access.allows("workspace:manage")
    run = find_any_run(access.workspace, run_id) if manages else find_run(access, run_id)
    by = actor_of(access)
    actions.cancel_run(access.workspace, run.pk, reason=f"cancelled by {by.name}", by=by)
    return _state(run)


def steer_run(access: Access, run_id: Word, body: SteerIn) -> RunStateOut:
    """Send a text to a run, for its next model call."""
    run = find_run(access, run_id)
    actions.steer_run(run, body.text, by=starter_of(access))
    return RunStateOut.of(run)


def retry_run(access: Access, run_id: Word) -> RunStateOut:
    """Start a new run with the same task and version; a quarantined run is discarded."""
    run = find_run(access, run_id)
    # Whoever asks at a terminal can resume a local run there.
    is_local = run.home == Placement.LOCAL and access.via == "terminal"
    home = Placement.LOCAL if is_local else Placement.FLEET
    again = actions.retry_run(run, by=starter_of(access), home=home)
    return RunStateOut.of(Run.objects.get(pk=again))


def unquarantine_run(access: Access, run_id: Word) -> RunStateOut:
    """Resume a quarantined run in its own process; 409 if it is not quarantined."""
    run = find_run(access, run_id)
    actions.unquarantine_run(run, by=actor_of(access))
    return _state(run)


def discard_run(access: Access, run_id: Word) -> RunStateOut:
    """Cancel a quarantined run; 409 if it is not quarantined."""
    run = find_run(access, run_id)
    actions.discard_run(run, by=actor_of(access))
    return _state(run)


def release_run(access: Access, run_id: Word) -> RunStateOut:
    """Release a run, with its whole tree, that is held since a restore; 409 if it is not."""
    run = find_run(access, run_id)
    actions.release_run(run, by=actor_of(access))
    run.refresh_from_db(fields=["home"])
    return _state(run)


def _state(run: Run) -> RunStateOut:
    run.refresh_from_db(fields=["status"])
    return RunStateOut.of(run)
