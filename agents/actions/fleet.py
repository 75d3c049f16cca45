"""Wake workers, pause and resume work, start and stop agents, and ask workers to leave.

Paused and stopped work is not claimed. Running runs of a paused queue continue. Those of a stopped
workspace or installation are requeued at once, except for an effect in flight, which finishes
first, and new runs are refused. Nothing is lost: ``resume_work`` continues all of it. Calls of a
disabled tool are refused: the model reads the refusal, and the run continues.

A stopped agent takes no new runs, and its queued runs are not claimed. Running runs are requeued at
once, after an effect in flight; waiting ones keep waiting. All of them resume when the agent is
started.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal
from uuid import UUID

from django.db import transaction

from agents.choices import Placement
from agents.errors import StoppedByOperatorError
from agents.limits.pauses import PauseTarget, find_pauses, of_operator
from agents.live.changes import EVERYWHERE, notify_on_commit
from agents.models import Agent, Run, WorkerHeartbeat
from agents.models.draft import DRAFT
from agents.models.pause import Pause
from agents.runs import wake_messages
from agents.runs.notices import notify_workers
from heartbit_site.base.audit import SYSTEM, Actor, record
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.query import fetch_all
from heartbit_site.base.rights import require


def wake_run(run_id: UUID | None) -> None:
    """Wake the run that an SQL function returned, if any.

    A local run's process is notified by NOTIFY instead.
    """
    if run_id is None:
        return
    rows = Run.objects.filter(pk=run_id, home=Placement.FLEET)
    for queue in rows.values_list("queue", flat=True):
        wake_queue(run_id, queue)


def wake_queue(run_id: UUID, queue: str) -> None:
    """Wake the queue's workers after the commit, to claim a run of the fleet."""
    transaction.on_commit(partial(wake_messages.wake_run, run_id, queue=queue))


def wake_released(query: str, values: Sequence[object]) -> None:
    """Wake the queues of the runs that an SQL function makes claimable.

    Args:
        query: A query of the function's rows: the run, and its queue.
        values: The function's arguments.
    """
    for run_id, queue in fetch_all(query, values):
        wake_queue(run_id, queue)


_REASON = 500


def pause_work(held: PauseTarget, *, by: Actor, reason: str = "", by_operator: bool = True) -> bool:
    """Store the pause, notify the workers, and write an audit entry.

    Args:
        held: The queue, workspace, tool or installation to pause.
        by: The actor.
        reason: Reason, shown beside the paused work.
        by_operator: True for an operator; False for a manager of the workspace, whose stop is
            stored beside one that an operator may have placed.

    Returns:
        True if the pause is new.
    """
    scope, workspace_id = _right(held, by_operator=by_operator)
    require(by, scope, workspace_id=workspace_id)
    with transaction.atomic():
        _, new = Pause.objects.get_or_create(
            kind=held.kind,
            queue=held.queue,
            workspace=held.workspace,
            tool=held.tool,
            by_operator=by_operator,
            defaults={"by": by.name[:200], "reason": reason[:_REASON]},
        )
        if new:
            notify_workers("agent")
            verb = "pause" if held.queue else "stop"
            _record(held, by, verb, reason=reason[:_REASON])
            notify_on_commit(EVERYWHERE, "fleet")
    return new


RING = 200  # runs woken at once; the sweepers wake the others as slots become free


def resume_work(held: PauseTarget, *, by: Actor, by_operator: bool = True) -> bool:
    """Delete the pause, wake the runs that may start, and write an audit entry.

    Work that is also blocked for another reason, such as a stopped agent, stays blocked. An
    operator ends the workspace's own stop too; a manager of the workspace ends only that one.

    Args:
        held: The queue, workspace, tool or installation to resume.
        by: The actor.
        by_operator: True for an operator; False for a manager of the workspace.

    Returns:
        True if anything changed.

    Raises:
        StoppedByOperatorError: Only an operator's stop is left, which a manager cannot end.
    """
    scope, workspace_id = _right(held, by_operator=by_operator)
    require(by, scope, workspace_id=workspace_id)
    with transaction.atomic():
        pauses = find_pauses(held)
        lifted, _ = (pauses if by_operator else pauses.filter(by_operator=False)).delete()
        kept = pauses.order_by("-by_operator").first()
        if not lifted:
            if kept is not None and kept.by_operator and not by_operator:
                raise StoppedByOperatorError(of_operator(held, kept))
            return False
        if kept is None:
            _tell(held)
        _record(held, by, "resume" if held.queue else "start")
        notify_on_commit(EVERYWHERE, "fleet", "runs")
    return True


def _right(held: PauseTarget, *, by_operator: bool) -> tuple[str, int | None]:
    """Return the scope required to pause work, and the workspace in which it is required."""
    if by_operator or held.workspace is None:
        return "fleet:manage", None
    return "workspace:manage", held.workspace.pk


def _record(held: PauseTarget, by: Actor, verb: str, **details: str) -> None:
    action, place = f"{held.action}.{verb}", held.workspace
    record(by, action, workspace=place, target=held.target, label=held.label, details=details)


def _tell(held: PauseTarget) -> None:
    if held.tool:  # a disabled tool blocks calls, not runs
        notify_workers("agent")
        return
    workspace_id = held.workspace.pk if held.workspace is not None else None
    wake_released(
        "SELECT ring, ring_queue FROM heartbit_go_on(%s, %s, %s)",
        [held.queue or None, workspace_id, RING],
    )


Switch = Literal["start", "stop", "restart"]


def set_agent_state(agent: Agent, to: Switch) -> bool:
    """Set an agent's state, and that of its draft's tests; notify the workers at once.

    A restart requeues running runs; for a stopped agent it is a start.

    Returns:
        True if anything changed.
    """
    for draft in Agent.objects.filter(
        workspace=agent.workspace_id, origin=DRAFT, name=agent.name
    ).exclude(pk=agent.pk):
        set_agent_state(draft, to)
    enabled = Agent.objects.filter(pk=agent.pk, enabled=True)
    changed = True
    if to == "stop":
        with transaction.atomic():
            changed = bool(enabled.update(enabled=False))
            if changed:
                notify_workers("agent", agent.pk)
    elif to == "start" and enabled.exists():
        changed = False
    else:
        query = "SELECT ring, ring_queue FROM heartbit_start_agent(%s, %s)"
        wake_released(query, [agent.pk, RING])
    agent.refresh_from_db(fields=["enabled", "enabled_at"])
    return changed


WorkerRequest = Literal["stop", "restart"]


class WorkerNotFoundError(NotFoundError):
    """No running worker has that id."""


@transaction.atomic
def request_worker_action(worker_id: int, wanted: WorkerRequest, *, by: Actor = SYSTEM) -> None:
    """Ask a worker to requeue its runs, and to stop or restart.

    The worker is notified at once and reads the request again at each heartbeat.

    Raises:
        WorkerNotFoundError: No such worker is running.
    """
    require(by, "fleet:manage", workspace_id=None)
    workers = WorkerHeartbeat.objects.filter(pk=worker_id)
    if not workers.filter(home=Placement.FLEET, left_at=None).update(requested_action=wanted):
        raise WorkerNotFoundError(
            f"There is no worker {worker_id}: `heartbit fleet` lists those that run."
        )
    notify_workers("worker", worker_id)
    record(
        by,
        f"worker.{wanted}",
        workspace=None,
        target=f"worker:{worker_id}",
        label=workers.values_list("name", flat=True).first() or "",
    )
    notify_on_commit(EVERYWHERE, "fleet")
