"""Let go on what ``pause_work`` held back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import connection, transaction

from agents.actions.wake_run import wake_queue
from agents.errors import StoppedByOperatorError
from agents.limits.pauses import find_pauses, of_operator
from agents.live.changes import EVERYWHERE, notify_on_commit
from agents.runs.notices import notify_workers
from heartbit_site.base.audit import record

if TYPE_CHECKING:
    from uuid import UUID

    from agents.limits.pauses import PauseTarget
    from heartbit_site.base.audit import Actor

RING = 200  # runs that are rung at once; the sweepers ring the others as slots become free


def resume_work(held: PauseTarget, *, by: Actor, by_operator: bool = True) -> bool:
    """Do it, ring the runs that may start, and write it into the audit.

    What is held back for another reason as well (a stopped agent, everything) stays so. An operator
    ends the workspace's own stop too; whoever manages the workspace ends that alone, and an
    operator's holds on.

    Args:
        held: What.
        by: Who.
        by_operator: Whether they do so as an operator; else as whoever manages the workspace.

    Returns:
        Whether anything changed: it may not have been held back.

    Raises:
        StoppedByOperatorError: There is nothing but an operator's stop, which they cannot end.
    """
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
    if held.tool:  # no run was held back by it
        notify_workers("agent")
        return
    workspace_id = held.workspace.pk if held.workspace is not None else None
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ring, ring_queue FROM heartbit_go_on(%s, %s, %s)",
            [held.queue or None, workspace_id, RING],
        )
        runs: list[tuple[UUID, str]] = cursor.fetchall()
    for run_id, queue in runs:
        wake_queue(run_id, queue)
