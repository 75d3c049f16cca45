"""Overdue waits and runs: expired, escalated or ended, with audit entries in the same transaction.

The sweepers call these functions; after a crash in between, the next sweep handles the waits.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from agents.choices import Placement
from agents.models import ToolCall, Wait
from agents.runs.run_audit import record_of_call
from heartbit_site.base.audit import Actor
from heartbit_site.base.query import fetch_all

_EXPIRY = Actor("expiry", "system")
_ESCALATION = Actor("escalation", "system")


@transaction.atomic
def expire_waits(limit: int) -> list[UUID]:
    """Resolve overdue waits as expired.

    Args:
        limit: Maximum number of waits.

    Returns:
        The runs to wake.
    """
    rows = fetch_all("SELECT ring, refused FROM heartbit_expire_waits(%s)", [limit])
    for call in _calls_of([refused for _, refused in rows if refused is not None]):
        record_of_call(_EXPIRY, "approval.expire", call, verdict="denied", digest=call.digest)
    return [ring for ring, _ in rows if ring is not None]


@transaction.atomic
def end_overdue_runs(limit: int) -> tuple[list[UUID], list[UUID]]:
    """End queued and waiting runs whose ``max_wall_seconds`` is over.

    Args:
        limit: Maximum number of runs.

    Returns:
        The runs that have ended, and the runs to wake.
    """
    rows = fetch_all("SELECT ended, ring FROM heartbit_end_overdue(%s)", [limit])
    return [ended for ended, _ in rows], [ring for _, ring in rows if ring is not None]


@transaction.atomic
def escalate_approvals(home: Placement, limit: int) -> list[int]:
    """Escalate calls that were not decided in time to more people, once each.

    Args:
        home: Placement of the runs.
        limit: Maximum number of waits.

    Returns:
        The escalated waits.
    """
    query = "SELECT heartbit_escalate_approvals(%s, %s)"
    escalated = [wait for (wait,) in fetch_all(query, [home.value, limit])]
    for call in _calls_of(escalated):
        group = (call.approval_view or {}).get("escalate_group") or ""
        record_of_call(_ESCALATION, "approval.escalate", call, digest=call.digest, group=group)
    return escalated


def _calls_of(waits: list[int]) -> QuerySet[ToolCall]:
    """List the calls of these waits by workspace: an entry locks its chain until the commit."""
    if not waits:
        return ToolCall.objects.none()
    theirs = Wait.objects.filter(pk__in=waits, run=OuterRef("run"), call_id=OuterRef("call_id"))
    calls = ToolCall.objects.filter(Exists(theirs)).select_related("run__workspace")
    return calls.order_by("run__workspace", "pk")
