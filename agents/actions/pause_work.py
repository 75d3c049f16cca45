"""Pause a queue, stop a workspace or everything, or disable a tool.

Paused and stopped work is not claimed. Running runs of a paused queue continue. Those of a stopped
workspace or installation are handed back at once, except for an effect in flight, which finishes
first, and new runs are refused. Nothing is lost: ``resume_work`` continues all of it. Calls of a
disabled tool are refused: the model reads the refusal, and the run continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from agents.live.changes import EVERYWHERE, notify_on_commit
from agents.models.pause import Pause
from agents.runs.notices import notify_workers
from heartbit_site.base.audit import Actor, record
from heartbit_site.base.rights import require

if TYPE_CHECKING:
    from agents.limits.pauses import PauseTarget

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
