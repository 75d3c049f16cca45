"""What agents are doing: idle, busy, error or stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db.models import OuterRef, Subquery

from agents.choices import RunStatus
from agents.models import Agent, Run

if TYPE_CHECKING:
    from collections.abc import Iterable

_AT_WORK = [RunStatus.RUNNING, RunStatus.WAITING]
_WENT_WRONG = {RunStatus.FAILED, RunStatus.QUARANTINED}


def states_of(agents: Iterable[Agent]) -> dict[int, tuple[str, str | None]]:
    """Each agent's state and, when it is busy, the newest run it works on.

    ``stopped``: it takes no new runs; ``error``: its last run failed.
    """
    runs = Run.objects.filter(version__agent=OuterRef("pk")).order_by("-pk")
    rows = Agent.objects.filter(pk__in=[agent.pk for agent in agents]).annotate(
        working=Subquery(runs.filter(status__in=_AT_WORK).values("pk")[:1]),
        last=Subquery(runs.filter(finished_at__isnull=False).values("status")[:1]),
    )
    found = {}
    for row in rows.values("pk", "enabled", "working", "last"):
        if not row["enabled"]:
            state = "stopped"
        elif row["working"] is not None:
            state = "busy"
        else:
            state = "error" if row["last"] in _WENT_WRONG else "idle"
        found[row["pk"]] = state, str(row["working"]) if row["working"] else None
    return found
