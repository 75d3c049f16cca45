"""Metrics and current status of agents: figures, queue, running runs and tools.

Usage::

    rows = agents_with_metrics(workspace)      # three queries, however many agents there are
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Avg, Count, F, Max, Min, OuterRef, Q, Subquery, Sum
from django.db.models.functions import JSONObject
from django.utils import timezone

from agents.choices import LIVE, TERMINAL, RunStatus
from agents.limits.pauses import stopped_tools
from agents.models import Agent, Run
from agents.reads.agents import find_editable
from agents.reads.outcome import cost_of
from agents.reads.views import (
    AgentMetricsOut,
    AgentQueueOut,
    AgentState,
    AgentStatusOut,
    AgentToolsOut,
    WorkingRunOut,
)
from heartbit_site.base.models import UsageEntry, Workspace
from heartbit_site.base.toolspec import ToolSpec
from heartbit_site.base.view import dollars
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash


@dataclass(frozen=True, slots=True)
class AgentOverview:
    """An agent with its state and its metrics.

    Attributes:
        current_run: Newest live run, if the agent is busy and the run is not private.
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
    live = JSONObject(id="id", private_to="private_to")
    return agents.select_related("current_version").annotate(
        live=Subquery(runs.filter(status__in=LIVE).values(live=live)[:1]),
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
    return AgentOverview(agent, _state(agent), _shown(agent.live), metrics)


def _shown(live: dict[str, Any] | None) -> UUID | None:
    """Return the id of a live run unless it is private."""
    return UUID(live["id"]) if live is not None and live["private_to"] is None else None


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


AT_WORK = 20


def statuses(workspace: Workspace, *, names: Collection[str]) -> list[AgentStatusOut]:
    """Return the status of the editable agents with these names, sorted by name."""
    found = agents_with_metrics(workspace, names=names)
    live = _live(workspace, names)
    stopped = stopped_tools(workspace)
    known = catalogue(workspace.pk)
    return [
        _status(one, live.get(one.agent.pk, {}), _tools(one.agent, known, stopped)) for one in found
    ]


def status_of(workspace: Workspace, name: str) -> AgentStatusOut:
    """Return the status of one agent.

    Raises:
        AgentNotFoundError: No agent has that name; the message lists those that exist.
    """
    return statuses(workspace, names=[find_editable(workspace, name).name])[0]


def _tools(agent: Agent, known: Mapping[str, ToolSpec], stopped: Collection[str]) -> AgentToolsOut:
    """Return the availability of an agent's published tools in its workspace."""
    loaded, changed, unknown = [], [], []
    snapshot = agent.current_version.snapshot if agent.current_version is not None else {}
    for tool in snapshot.get("tools", ()):
        spec = known.get(tool["name"])
        if spec is None:
            unknown.append(tool["name"])
        elif definition_hash(spec) != tool["hash"]:
            changed.append(tool["name"])
        else:
            loaded.append(tool["name"])
    held = [name for name in loaded if name in stopped]
    return AgentToolsOut(loaded=loaded, changed=changed, unknown=unknown, stopped=held)


def _status(overview: AgentOverview, live: dict[str, Any], tools: AgentToolsOut) -> AgentStatusOut:
    agent, metrics = overview.agent, overview.metrics
    return AgentStatusOut(
        name=agent.name,
        state=overview.state,
        enabled=agent.enabled,
        version=agent.current_version.number if agent.current_version is not None else None,
        uptime_seconds=metrics.uptime_seconds,
        last_activity=metrics.last_activity,
        runs=_working(agent) if live.get("running") else [],
        tools=tools,
        queue=AgentQueueOut(
            name=agent.queue,
            queued=live.get("queued", 0),
            running=live.get("running", 0),
            waiting=live.get("waiting", 0),
            oldest_seconds=_since(live.get("oldest")),
        ),
        metrics=metrics,
        problem=_problem(agent) if overview.state == "error" else "",
    )


def _since(oldest: datetime | None) -> float | None:
    """Return the seconds since a time; None if it lies in the future."""
    passed = (timezone.now() - oldest).total_seconds() if oldest is not None else -1.0
    return passed if passed >= 0 else None


def _live(workspace: Workspace, names: Collection[str]) -> dict[int, dict[str, Any]]:
    # By `finished_at`: an index on unfinished runs leaves the many finished ones out.
    runs = Run.objects.filter(
        workspace=workspace,
        finished_at__isnull=True,
        version__agent__origin="",
        version__agent__name__in=names,
    )
    queued = Q(status=RunStatus.QUEUED)
    counted: Any = (
        runs.order_by()
        .values("version__agent")
        .annotate(
            queued=Count("pk", filter=queued),
            running=Count("pk", filter=Q(status=RunStatus.RUNNING)),
            waiting=Count("pk", filter=Q(status=RunStatus.WAITING)),
            oldest=Min("available_at", filter=queued),
        )
    )
    return {row["version__agent"]: row for row in counted}


def _working(agent: Agent) -> list[WorkingRunOut]:
    held = Run.objects.filter(
        status=RunStatus.RUNNING, version__agent=agent, worker__isnull=False, private_to=None
    )
    rows = held.order_by("-created_at").values_list("pk", "worker__name")[:AT_WORK]
    return [WorkingRunOut(id=str(pk), worker=worker) for pk, worker in rows]


def _problem(agent: Agent) -> str:
    ended = Run.objects.filter(
        workspace=agent.workspace_id,
        version__agent=agent,
        finished_at__isnull=False,
        private_to=None,
    )
    error = ended.order_by("-created_at").values_list("error", flat=True).first()
    return str(error["message"]) if error else ""
