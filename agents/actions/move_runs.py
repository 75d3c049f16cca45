"""Move live runs of a workflow to another version of it.

A move is a fork of the waiting run with its whole journal, and the cancel of the old one, in one
transaction. Nodes that have ended are not repeated; open questions are asked again, and pauses and
time limits of open nodes start over. A run whose node works in a run of its own is not moved: the
new run would repeat that work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from agents.actions.fork_run import Edits, accept_fork
from agents.actions.runs import cancel_run
from agents.choices import Placement, RunStatus
from agents.journal.waits import REMOTE
from agents.loop.workflow.state import WorkflowState
from agents.models import Agent, AgentVersion, Delivery, Run
from agents.runs.graph_misfits import misfits_of, state_after
from agents.runs.history import load_history
from agents.runs.run_audit import record_of_run
from heartbit_site.base.audit import Actor
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.rights import require


@dataclass(frozen=True, slots=True)
class Move:
    """Result of moving a run.

    Attributes:
        run: The run that was to be moved.
        obstacles: Sentences on why it stays; empty: it is moved, or could be.
        moved_to: The run that continues it; None: it was not moved.
    """

    run: Run
    obstacles: list[str]
    moved_to: UUID | None = None


def find_movable(agent: Agent, version: AgentVersion) -> list[UUID]:
    """Return the live runs of a workflow on other versions, the oldest first."""
    live = Run.objects.filter(version__agent=agent, finished_at__isnull=True)
    others = live.exclude(version=version).order_by("created_at")
    return list(others.values_list("pk", flat=True))


def move_runs(
    run_ids: Iterable[UUID], version: AgentVersion, *, by: Actor, dry_run: bool = False
) -> list[Move]:
    """Move runs to a version of their workflow, each in a transaction of its own.

    Args:
        run_ids: Runs of the version's workspace.
        version: The version that they continue with.
        by: The owner of the new runs.
        dry_run: Only find what does not fit.

    Raises:
        ForbiddenError: The owner may not start runs.
    """
    require(by, "runs:write", workspace_id=version.agent.workspace_id)
    return [_move(run_id, version, by=by, dry_run=dry_run) for run_id in run_ids]


def _move(run_id: UUID, version: AgentVersion, *, by: Actor, dry_run: bool) -> Move:
    with transaction.atomic():
        rows = Run.objects.select_related("version__agent", "workspace")
        run = rows.select_for_update(of=("self",), no_key=True).get(pk=run_id)
        found = list(_obstacles(run, version))
    if found or dry_run:
        return Move(run, found)
    try:
        return _continue(run, version, by=by)
    except HeartbitError as error:
        return Move(run, [str(error)])


@transaction.atomic
def _continue(run: Run, version: AgentVersion, *, by: Actor) -> Move:
    """Fork a run and cancel it; no worker gets it meanwhile, since its row is locked."""
    locked = Run.objects.select_for_update(no_key=True).filter(pk=run.pk)
    changed = locked.values_list("last_seq", "status").get() != (run.last_seq, run.status)
    if changed:
        return Move(run, ["It has continued meanwhile: try again."])
    step = state_after(load_history(run).journal).step
    made = accept_fork(run, step, edits=Edits(version=version.number, whole=step > 0), by=by).run_id
    Delivery.objects.filter(run_id=run.pk).update(run_id=made)
    reason = f"moved to v{version.number}, as run {made}"
    cancel_run(run.workspace, run.pk, reason=reason, by=by)
    record_of_run(by, "move", run, run=str(made), version=version.number)
    return Move(run, [], made)


def _obstacles(run: Run, version: AgentVersion) -> Iterator[str]:
    """Yield why a run cannot be moved."""
    if run.version.agent_id != version.agent_id:
        yield f"It is a run of {run.version.agent.name}."
        return
    if run.version_id == version.pk:
        yield f"It is on v{version.number} already."
        return
    if run.status not in (RunStatus.WAITING, RunStatus.QUEUED):
        yield f"It is {run.status}: only runs that wait are moved."
        return
    if run.parent_id is not None:
        yield f"Run {run.parent_id} waits for it, and not for a fork of it: let it end."
    if run.conversation_id is not None:
        yield (
            "It answers a conversation, which a fork does not: let it end, or cancel it and post "
            "the message again; new messages run the current version."
        )
    if run.home == Placement.RESTORED:
        yield "It is held since a restore: release it, or cancel it."
    elif run.home != Placement.FLEET:
        yield "It is a local run, which its process holds."
    journal = load_history(run).journal
    state = state_after(journal)
    for child in run.children.filter(finished_at__isnull=True).order_by("created_at"):
        yield (
            f"Run {child.pk} of {child.agent} works for it, and would be repeated: let that run "
            "end, and move this one then; or cancel that run, which is an error of its node."
        )
    yield from _open_calls(state)
    yield from misfits_of(journal, run.version, version)


def _open_calls(state: WorkflowState) -> Iterator[str]:
    """Yield why open calls cannot begin again in another run."""
    for call in state.calls.values():
        is_open = state.open_waits(call) > 0
        if call.outcome_request is not None and is_open:
            yield f"The call {call.call_id} is uncertain: resolve it (`heartbit resolve`)."
        if is_open and any(key.startswith(f"{REMOTE.name}:") for key in call.wait_keys):
            yield f"The call {call.call_id} waits for a remote agent, whose task would begin again."
