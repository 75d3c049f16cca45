"""Overdue waits and runs: expired, escalated or ended, with audit entries in the same transaction.

The sweepers call these functions; after a crash in between, the next sweep handles the waits.
"""

from __future__ import annotations

from uuid import UUID

from django.contrib.postgres.functions import TransactionNow
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from agents.choices import Placement
from agents.journal.waits import REVIEW
from agents.models import ToolCall, Wait
from agents.runs.run_audit import record_of_call, record_of_review
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
    rings = [ring for ring, _ in rows if ring is not None]
    # Of a run that wakes, the review that this transaction resolved.
    expired = Wait.objects.filter(run__in=rings, value__status="expired")
    reviews = expired.filter(resolved_at__gte=TransactionNow())
    for one in _waiting([refused for _, refused in rows if refused is not None], reviews):
        if isinstance(one, ToolCall):
            record_of_call(_EXPIRY, "approval.expire", one, verdict="denied", digest=one.digest)
        else:
            record_of_review(_EXPIRY, "expire", one.run)
    return rings


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
    for one in _waiting(escalated, Wait.objects.filter(pk__in=escalated)):
        if isinstance(one, ToolCall):
            group = (one.approval_view or {}).get("escalate_group") or ""
            record_of_call(_ESCALATION, "approval.escalate", one, digest=one.digest, group=group)
        else:
            record_of_review(_ESCALATION, "escalate", one.run)
    return escalated


def _waiting(waits: list[int], reviews: QuerySet[Wait]) -> list[ToolCall | Wait]:
    """List the calls of these waits, and the reviews among those.

    The list is sorted by workspace, because an entry locks its chain until the commit.
    """
    theirs = Wait.objects.filter(pk__in=waits, run=OuterRef("run"), call_id=OuterRef("call_id"))
    calls = ToolCall.objects.filter(Exists(theirs)).select_related("run__workspace").order_by("pk")
    reviews = reviews.filter(kind=REVIEW.name).select_related("run__workspace").order_by("pk")
    return sorted([*calls, *reviews], key=lambda one: one.run.workspace_id)
