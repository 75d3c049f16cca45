"""Hold back a queue, a workspace, a tool or everything.

Nothing of it is claimed any more. A paused queue's runs that are at work go on; of a stopped
workspace, and of everything, they are handed back at once, but for an effect under way, which comes
to its end first, and new ones are refused. Nothing is lost: it all goes on with ``resume_work``. A
stopped tool is called no more: the model is told so, and the run goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import transaction

from agents.live.changes import EVERYWHERE, notify_on_commit
from agents.models.pause import Pause
from agents.runs.notices import notify_workers
from heartbit_site.base.audit import record

if TYPE_CHECKING:
    from agents.limits.pauses import PauseTarget
    from heartbit_site.base.audit import Actor

_REASON = 500


def pause_work(held: PauseTarget, *, by: Actor, reason: str = "", by_operator: bool = True) -> bool:
    """Do it, tell the workers at once, and write it into the audit.

    Args:
        held: What.
        by: Who.
        reason: For whoever wonders why nothing moves.
        by_operator: Whether they do so as an operator; else as whoever manages the workspace, and
            the stop is the workspace's own, beside one that an operator may have placed.

    Returns:
        Whether anything changed: what is held back already stays as it was.
    """
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
