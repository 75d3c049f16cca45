"""Named queries of the admin's pages. Each page costs the same few, however long its history is."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import JSONObject

from agents.approvals.uncertain_calls import written_arguments
from agents.choices import LIVE
from agents.models import Agent, Run, ToolCall, Wait
from agents.querysets import calls_waiting, uncertain_calls
from heartbit_site.base.models import UsageEntry

if TYPE_CHECKING:
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Spent:
    """Usage of model calls.

    Attributes:
        cost_usd: The sum of the known prices.
        unpriced: How many calls have no known price.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal
    unpriced: int


def with_runs(agents: QuerySet[Agent]) -> QuerySet[Agent]:
    """Agents with ``has_live_run`` and ``last_run``: the newest one's id, status, time, or null."""
    # The workspace is redundant, but lets the planner walk runs from the newest (run_recent).
    runs = Run.objects.filter(workspace=OuterRef("workspace"), version__agent=OuterRef("pk"))
    newest = runs.order_by("-created_at").values(
        found=JSONObject(id="id", status="status", at="created_at")
    )
    return agents.annotate(
        last_run=Subquery(newest[:1]), has_live_run=Exists(runs.filter(status__in=LIVE))
    )


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


def spent_with(workspace_id: int, provider: str, *, since: datetime) -> Spent:
    """Return a workspace's usage of one provider since a time."""
    entries = UsageEntry.objects.filter(workspace=workspace_id, at__gte=since)
    sums = entries.filter(model__startswith=f"{provider}:").aggregate(
        calls=Count("pk"),
        unpriced=Count("pk", filter=Q(cost_usd__isnull=True)),
        input_tokens=Sum("input_tokens", default=0),
        output_tokens=Sum("output_tokens", default=0),
        cost_usd=Sum("cost_usd", default=Decimal(0)),
    )
    return Spent(**sums)
