"""The query that the admin's pages share."""

from __future__ import annotations

from django.db.models import OuterRef, QuerySet, Subquery

from agents.approvals.questions import written_arguments
from agents.models import ToolCall, Wait
from agents.querysets import calls_waiting, uncertain_calls


def waiting_calls() -> QuerySet[ToolCall]:
    """Select the calls of all workspaces that wait for a person, with ``asked_at``, ``edited``.

    They wait for approval, or, as those with the status ``uncertain``, for a word on their outcome.
    """
    asked = Wait.objects.filter(
        run=OuterRef("run"),
        call_id=OuterRef("call_id"),
        asks_person=True,
        resolved_at__isnull=True,
    )
    # A union, not an "or": each half finds its few rows among all calls by an index.
    found = [calls.order_by().values("pk") for calls in (calls_waiting(), uncertain_calls())]
    waiting = ToolCall.objects.filter(pk__in=found[0].union(found[1])).annotate(
        asked_at=Subquery(asked.values("created_at")[:1]), edited=written_arguments()
    )
    return waiting.select_related("run__workspace", "run__version__agent").order_by("id")
