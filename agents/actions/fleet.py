"""Pause and resume work, start and stop agents, and ask workers to leave.

Paused and stopped work is not claimed. Running runs of a paused queue continue. Those of a stopped
workspace or installation are handed back at once, except for an effect in flight, which finishes
first, and new runs are refused. Nothing is lost: ``resume_work`` continues all of it. Calls of a
disabled tool are refused: the model reads the refusal, and the run continues.

A stopped agent takes no new runs, and its queued runs are not claimed. Running runs are handed back
at once, after an effect in flight; waiting ones keep waiting. All of them resume when the agent is
started.
"""

from __future__ import annotations

from typing import Literal

from django.db import transaction

from agents.actions.wake_run import wake_released
from agents.choices import Placement
from agents.errors import StoppedByOperatorError
from agents.limits.pauses import PauseTarget, find_pauses, of_operator
from agents.live.changes import EVERYWHERE, notify_on_commit
from agents.models import Agent, WorkerHeartbeat
from agents.models.pause import Pause
from agents.runs.notices import notify_workers
from heartbit_site.base.audit import SYSTEM, Actor, record
from heartbit_site.base.errors import NotFoundError
from heartbit_site.base.rights import require

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
    place = None if by_operator else held.workspace
    scope = "fleet:manage" if place is None else "workspace:manage"
    require(by, scope, workspace_id=place.pk if place is not None else None)
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
            record(
                by,
                f"{held.action}.{verb}",
                workspace=held.workspace,
                target=held.target,
                label=held.label,
                details={"reason": reason[:_REASON]},
            )
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
    place = None if by_operator else held.workspace
    scope = "fleet:manage" if place is None else "workspace:manage"
    require(by, scope, workspace_id=place.pk if place is not None else None)
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
        record(
            by,
            f"{held.action}.{'resume' if held.queue else 'start'}",
            workspace=held.workspace,
            target=held.target,
            label=held.label,
        )
        notify_on_commit(EVERYWHERE, "fleet", "runs")
    return True


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
    """Set an agent's state, and notify the workers at once.

    A restart requeues running runs; for a stopped agent it is a start.

    Returns:
        True if anything changed.
    """
    if to == "stop":
        changed = _stop(agent)
    elif to == "start" and Agent.objects.filter(pk=agent.pk, enabled=True).exists():
        changed = False
    else:
        _start(agent)
        changed = True
    agent.refresh_from_db(fields=["enabled", "enabled_at"])
    return changed


@transaction.atomic
def _stop(agent: Agent) -> bool:
    stopped = Agent.objects.filter(pk=agent.pk, enabled=True).update(enabled=False)
    if stopped:
        notify_workers("agent", agent.pk)
    return bool(stopped)


def _start(agent: Agent) -> None:
    wake_released("SELECT ring, ring_queue FROM heartbit_start_agent(%s, %s)", [agent.pk, RING])


WorkerRequest = Literal["stop", "restart"]


class WorkerNotFoundError(NotFoundError):
    """There is no running worker with that id."""


@transaction.atomic
def request_worker_action(worker_id: int, wanted: WorkerRequest, *, by: Actor = SYSTEM) -> None:
    """Ask a worker to hand its runs back and stop, or then restart.

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
