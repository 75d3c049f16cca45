"""Change a run: cancel, steer, retry, resume, unquarantine or release it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.contrib.postgres.functions import TransactionNow
from django.db import transaction

from agents.actions.admit import refuse_reader
from agents.actions.fleet import wake_run
from agents.actions.fork_run import accept_fork
from agents.choices import TERMINAL, Placement, RunKind, RunStatus
from agents.errors import EmptyTaskError, RunNotFoundError, RunStateError
from agents.live.changes import notify_on_commit
from agents.models import Agent, Run
from agents.models.draft import DRAFT
from agents.runs.restored import release_tree
from agents.runs.run_audit import record_of_run
from agents.runs.sql_functions import call_function
from agents.runtime.execution.executor import executor_of
from agents.runtime.toolset.program_tools import refuse_without_tools_of_tree
from agents.tracing import runs as traces
from heartbit_site.base.audit import NOBODY, SYSTEM, Actor
from heartbit_site.base.errors import Remedy
from heartbit_site.base.models import Workspace
from heartbit_site.base.query import fetch_one
from heartbit_site.base.rights import require
from heartbit_site.base.untrusted import clean_text


@transaction.atomic
def cancel_run(workspace: Workspace, run_id: UUID, *, reason: str, by: Actor = SYSTEM) -> None:
    """Cancel a run and its sub-agents' runs: running ones are notified and then end themselves.

    A run that has ended, or whose cancellation was requested before, is left unchanged.

    Raises:
        RunNotFoundError: The workspace has no such run.
    """
    require(by, "runs:write", workspace_id=workspace.pk)
    run = Run.objects.filter(workspace=workspace, pk=run_id).first()
    if run is None:
        raise RunNotFoundError(
            f"There is no run {run_id} in {workspace.slug}: `heartbit status` lists them."
        )
    stops = _lock(run)
    (ring,) = fetch_one("SELECT heartbit_cancel(%s, %s)", [run_id, reason])
    if traces.is_on():  # no slice ends a run that waits
        ended = Run.objects.filter(root=run.root_id, finished_at__gte=TransactionNow())
        ids = list(ended.values_list("pk", flat=True))
        transaction.on_commit(lambda: traces.after_end(ids))
    if stops:
        record_of_run(by, "cancel", run, reason=reason)
    wake_run(ring)
    notify_on_commit(workspace.pk, "runs", "calls")


def _lock(run: Run) -> bool:
    """Lock the rows in the SQL function's order; return True if the run can be cancelled."""
    locked = Run.objects.select_for_update(no_key=True).order_by()
    if run.parent_id is not None:
        locked.filter(pk=run.parent_id).values_list("pk").first()
    found = locked.filter(pk=run.pk).values_list("finished_at", "cancel_requested").first()
    return found == (None, False)


@transaction.atomic
def steer_run(run: Run, text: str, *, by: Actor = NOBODY) -> None:
    """Add a message to a live run; after another person's message it acts for no person.

    Raises:
        EmptyTaskError: ``text`` is blank.
        CallClosedError: The run has ended.
        ForbiddenError: The run has recalled memories that the author may not read; or it tests a
            draft, and the author may not edit agents.
        RunStateError: The run is not of the kind agent.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    if Agent.objects.filter(versions__runs=run.root_id, origin=DRAFT).exists():
        require(by, "agents:write", workspace_id=run.workspace_id)
    words = clean_text(text).strip()
    if not words:
        raise EmptyTaskError("The message is empty: say what the run should know.")
    if run.kind != RunKind.AGENT:
        raise RunStateError(
            f"The kind of run {run.pk} is {run.kind}: only an agent's run can be steered."
        )
    refuse_reader(run, by)
    parameters = [run.pk, words, by.name, by.user_id]
    call_function("SELECT heartbit_steer(%s, %s, %s, p_user => %s)", parameters)
    record_of_run(by, "steer", run)


def retry_run(run: Run, *, by: Actor, home: Placement = Placement.FLEET) -> UUID:
    """Start a new run with the same task on the same version, linked to the run that it repeats.

    A quarantined run is discarded in the same transaction.

    Returns:
        The new run's id.

    Raises:
        RunStateError: The run has not ended.
        CallClosedError: The quarantine has ended meanwhile.
        AgentNotFoundError: The agent is stopped.
        HaltedError: The workspace or the installation is stopped.
        QuotaExceededError: The workspace or the agent has reached a run quota.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    if run.status not in TERMINAL:
        raise RunStateError(
            f"Run {run.pk} has not ended ({run.status}): cancel it first, or wait for it."
        )
    discarded = run.status == RunStatus.QUARANTINED
    with transaction.atomic():
        if discarded:
            call_function("SELECT heartbit_discard(%s, %s)", [run.pk, by.name])
            transaction.on_commit(lambda: traces.after_end([run.pk]))
        accepted = accept_fork(run, 0, by=by, home=home).run_id
        record_of_run(by, "retry", run, run=str(accepted), discarded=discarded)
    return accepted


@transaction.atomic
def discard_run(run: Run, *, by: Actor) -> None:
    """Cancel a quarantined run, so that it needs no further attention; its journal stays.

    Raises:
        CallClosedError: The run is not in quarantine.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    call_function("SELECT heartbit_discard(%s, %s)", [run.pk, by.name])
    transaction.on_commit(lambda: traces.after_end([run.pk]))
    record_of_run(by, "discard", run)
    notify_on_commit(run.workspace_id, "runs")


@transaction.atomic
def unquarantine_run(run: Run, *, by: Actor) -> None:
    """Requeue a quarantined run, to be executed in an isolated process.

    Raises:
        CallClosedError: The run is not in quarantine, or its parent has continued without it.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    ring = call_function("SELECT heartbit_revive(%s, %s)", [run.pk, by.name])
    record_of_run(by, "resume", run)
    wake_run(ring)
    notify_on_commit(run.workspace_id, "runs")


@transaction.atomic
def release_run(run: Run, *, by: Actor) -> None:
    """Let workers continue a run, with its whole tree, that is held since a restore.

    Raises:
        RunStateError: The run is not held.
    """
    require(by, "runs:write", workspace_id=run.workspace_id)
    released, queued = release_tree(run.root_id, by=by.name)
    if not released:
        raise RunStateError(
            f"Run {run.pk} is not held since a restore: it has ended, or was never held."
        )
    record_of_run(by, "release", run, runs=released)
    for run_id in queued:
        wake_run(run_id)
    notify_on_commit(run.workspace_id, "runs")


@dataclass(frozen=True, slots=True)
class Resumption:
    """Decision on how a live run continues.

    Attributes:
        root_id: Root of the tree, whichever of its runs was named.
        takes_over: True if the calling process should execute the run: it is local, and no running
            process executes it.
        executor: The executing process as ``host:pid``; empty if that is the caller or the fleet.
    """

    root_id: UUID
    takes_over: bool
    executor: str = ""


def resume_run(run: Run) -> Resumption:
    """Return which process continues a run. Nothing is written: claims decide.

    Raises:
        RunStateError: The run's tree has ended.
        ProgramToolsError: The calling process should execute the run, and lacks a tool that only
            the run's program has.
    """
    root = run.root
    if root.status in TERMINAL:
        past = "was " if root.status in ("cancelled", "quarantined") else ""
        raise RunStateError(
            f"Run {root.pk} {past}{root.status} already: `heartbit result {root.pk}` shows how; "
            "start the task again to repeat it."
        )
    if root.home == Placement.RESTORED:
        raise RunStateError(
            f"Run {root.pk} is held since a restore: release it for the workers.",
            remedy=Remedy("runs.release_run", "releases it", {"run_id": str(root.pk)}),
        )
    if root.home == Placement.FLEET:
        return Resumption(root.pk, takes_over=False)
    executor = executor_of(root.pk)
    if executor is None:
        refuse_without_tools_of_tree(root)
    return Resumption(root.pk, takes_over=executor is None, executor=executor or "")


def take_follow_up(source_id: UUID) -> UUID | None:
    """Make the queued extraction of an ended run local; return its id, or None without one.

    Args:
        source_id: The local run that has ended.
    """
    rows = Run.objects.filter(extraction__source=source_id)
    waiting = rows.filter(home=Placement.FLEET, status=RunStatus.QUEUED)
    if not waiting.update(home=Placement.LOCAL):
        return None
    found: UUID = rows.values_list("pk", flat=True).get()
    return found
