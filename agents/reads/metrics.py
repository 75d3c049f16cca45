"""Metrics of agents for every surface. ``agents.reads.outcome`` has those of one run.

Usage::

    rows = agents_with_metrics(workspace)      # three queries, however many agents there are
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Avg, Count, F, Max, OuterRef, Q, Subquery, Sum
from django.db.models.functions import JSONObject
from django.utils import timezone

from agents.choices import LIVE, TERMINAL, RunStatus
from agents.models import Agent, Run
from agents.reads.views import AgentMetricsOut, AgentState
from heartbit_site.base.models import UsageEntry, Workspace
from heartbit_site.base.view import dollars


@dataclass(frozen=True, slots=True)
class AgentOverview:
    """An agent with its state and its metrics.

    Attributes:
        current_run: Newest live run, if the agent is busy.
    """

    agent: Agent
    state: AgentState
    current_run: UUID | None
    metrics: AgentMetricsOut


def agents_with_metrics(
    workspace: Workspace, *, names: Collection[str] | None = None
) -> list[AgentOverview]:
    """Return the editable agents by name, or only those with these names."""
    agents = Agent.objects.filter(workspace=workspace, origin="")
    agents = agents if names is None else agents.filter(name__in=names)
    runs = _runs(workspace, names)
    usage = _usage(workspace, names)
    return [_overview(agent, runs.get(agent.pk, {}), usage) for agent in _with_runs(agents)]


def _with_runs(agents: Any) -> Any:
    """Annotate agents with their newest live run and the newest one that ended."""
    # The workspace is redundant, but lets the planner walk runs from the newest (run_recent).
    runs = Run.objects.filter(
        workspace=OuterRef("workspace"), version__agent=OuterRef("pk")
    ).order_by("-created_at")
    found = JSONObject(id="id", status="status")
    return agents.select_related("current_version").annotate(
        live=Subquery(runs.filter(status__in=LIVE).values("id")[:1]),
        ended=Subquery(runs.filter(status__in=TERMINAL).values(found=found)[:1]),
    )


def _overview(agent: Any, runs: dict[str, Any], usage: dict[int, dict[str, Any]]) -> AgentOverview:
    spent = usage.get(agent.pk, {})
    average: timedelta | None = runs.get("average")
    uptime = (timezone.now() - agent.enabled_at).total_seconds() if agent.enabled else 0.0
    succeeded, failed = runs.get("succeeded", 0), runs.get("failed", 0)
    metrics = AgentMetricsOut(
        runs=runs.get("runs", 0),
        succeeded=succeeded,
        failed=failed,
        success_rate=succeeded / (succeeded + failed) if succeeded + failed else None,
        average_seconds=average.total_seconds() if average is not None else None,
        input_tokens=spent.get("input_tokens", 0),
        output_tokens=spent.get("output_tokens", 0),
        cost_usd=dollars(cost_of(spent)),
        uptime_seconds=max(0.0, uptime),
        last_activity=max(
            filter(None, (runs.get("last_created"), runs.get("last_finished"), spent.get("last"))),
            default=None,
        ),
    )
    return AgentOverview(agent, _state(agent), agent.live, metrics)


def _state(agent: Any) -> AgentState:
    if not agent.enabled:
        return "stopped"
    if agent.live is not None:
        return "busy"
    failed = (RunStatus.FAILED, RunStatus.QUARANTINED)
    return "error" if agent.ended is not None and agent.ended["status"] in failed else "idle"


def _runs(workspace: Workspace, names: Collection[str] | None) -> dict[int, dict[str, Any]]:
    runs = Run.objects.filter(workspace=workspace, version__agent__origin="")
    runs = runs if names is None else runs.filter(version__agent__name__in=names)
    counted: Any = (
        runs.order_by()
        .values(agent_id=F("version__agent"))
        .annotate(
            runs=Count("pk"),
            succeeded=Count("pk", filter=Q(status=RunStatus.SUCCEEDED)),
            failed=Count("pk", filter=Q(status__in=[RunStatus.FAILED, RunStatus.QUARANTINED])),
            average=Avg(F("finished_at") - F("started_at")),
            last_created=Max("created_at"),
            last_finished=Max("finished_at"),
        )
    )
    return {row["agent_id"]: row for row in counted}


def _usage(workspace: Workspace, names: Collection[str] | None) -> dict[int, dict[str, Any]]:
    # From the ledger, which includes live runs. It has no foreign key to runs, hence the subquery;
    # entries of deleted runs are left out, because their agent is unknown.
    agents = Run.objects.filter(pk=OuterRef("run_id"), version__agent__origin="")
    agents = agents if names is None else agents.filter(version__agent__name__in=names)
    spent: Any = (
        UsageEntry.objects.filter(workspace=workspace)
        .annotate(agent_id=Subquery(agents.values("version__agent")))
        .filter(agent_id__isnull=False)
        .values("agent_id")
        .annotate(**SUMS, last=Max("at"))
    )
    return {row["agent_id"]: row for row in spent}


#: Aggregates of usage entries; ``cost_of`` reads the cost from them.
SUMS: dict[str, Any] = {
    "calls": Count("pk"),
    "unpriced": Count("pk", filter=Q(cost_usd__isnull=True)),
    "input_tokens": Sum("input_tokens", default=0),
    "output_tokens": Sum("output_tokens", default=0),
    "cost_usd": Sum("cost_usd", default=Decimal(0)),
}


def cost_of(spent: dict[str, Any]) -> Decimal | None:
    """Return the US dollars in ``SUMS``; 0 without model calls, None if a price is unknown."""
    if spent.get("unpriced"):
        return None
    cost: Decimal = spent.get("cost_usd", Decimal(0))
    return cost
