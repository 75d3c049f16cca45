"""Resume work that ``pause_work`` paused, stopped or disabled."""

from __future__ import annotations

from django.db import transaction

from agents.actions.wake_run import wake_released
from agents.errors import StoppedByOperatorError
from agents.limits.pauses import PauseTarget, find_pauses, of_operator
from agents.live.changes import EVERYWHERE, notify_on_commit
from agents.runs.notices import notify_workers
from heartbit_site.base.audit import Actor, record
from heartbit_site.base.rights import require

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
