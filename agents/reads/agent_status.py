"""Metrics and current status of agents: figures, queue, running runs and tools.

Usage::

    rows = agents_with_metrics(workspace)      # three queries, however many rows there are
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Min, OuterRef, Q, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import JSONObject
from django.utils import timezone

from agents.choices import RunStatus
from agents.limits.pauses import stopped_tools
from agents.models import Agent, AgentVersion, Run, RunEvent
from agents.reads.agents import find_editable
from agents.reads.figures import over_figures, read_figures
from agents.reads.outcome import cost_of
from agents.reads.views import (
    AgentMetricsOut,
    AgentQueueOut,
    AgentState,
    AgentStatusOut,
    AgentToolsOut,
    WorkingRunOut,
)
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import ToolSpec
from heartbit_site.base.view import dollars
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash


@dataclass(frozen=True, slots=True)
class AgentOverview:
    """An agent with its state and its metrics.

    Attributes:
        current_run: Newest live run that is not private.
    """

    agent: Agent
    state: AgentState
    current_run: UUID | None
    metrics: AgentMetricsOut


_METRICS: Final = over_figures("""
    SELECT v.agent_id, sum(f.runs)::bigint AS runs, sum(f.succeeded)::bigint AS succeeded,
           sum(f.failed)::bigint AS failed, sum(f.seconds) / nullif(sum(f.ended), 0) AS average,
           sum(f.tokens)::bigint AS tokens, sum(f.input_tokens)::bigint AS input_tokens,
           sum(f.cost_usd) AS cost_usd, sum(f.unpriced)::bigint AS unpriced
    FROM figures f
    JOIN agents_agentversion v ON v.id = f.version_id
    JOIN agents_agent a ON a.id = v.agent_id
    WHERE a.origin = '' AND (%(names)s::text[] IS NULL OR a.name = ANY(%(names)s))
    GROUP BY v.agent_id
""")


def agents_with_metrics(
    workspace: Workspace, *, names: Collection[str] | None = None
) -> list[AgentOverview]:
    """Return the editable agents by name, or only those with these names."""
    agents = Agent.objects.filter(workspace=workspace, origin="")
    agents = agents if names is None else agents.filter(name__in=names)
    rows = read_figures(
        _METRICS,
        workspace.pk,
        since=datetime.fromtimestamp(0, UTC),
        now=timezone.now(),
        names=None if names is None else list(names),
    )
    figures = {row["agent_id"]: row for row in rows}
    return [_overview(agent, figures.get(agent.pk, {})) for agent in _with_runs(agents)]


def newest_run() -> Subquery:
    """Return the id, status, start (``at``) and end of an agent's newest run, for a query of them.

    One look into the index run_of_version for each version, however many runs there are: in this
    order no other index serves. By id the planner would walk the runs of all versions.
    """
    runs = Run.objects.filter(version=OuterRef("pk")).order_by("-created_at")
    found = JSONObject(id="id", status="status", at="created_at", ended="finished_at")
    versions = AgentVersion.objects.filter(agent=OuterRef("pk")).annotate(
        newest=Subquery(runs.values(found=found)[:1])
    )
    last = KT("newest__at").desc(nulls_last=True)
    return Subquery(versions.order_by(last).values("newest")[:1])


def _with_runs(agents: Any) -> Any:
    """Annotate agents with their newest run, their newest live ones, and the last event's time.

    ``shown`` is the newest live run that is not private.
    """
    live = Run.objects.filter(version__agent=OuterRef("pk"), finished_at__isnull=True)
    events = RunEvent.objects.filter(run=OuterRef("live")).order_by("-seq")
    return agents.select_related("current_version").annotate(
        newest=newest_run(),
        live=Subquery(live.order_by("-created_at").values("id")[:1]),
        shown=Subquery(live.filter(private_to=None).order_by("-created_at").values("id")[:1]),
        active=Subquery(events.values("at")[:1]),
    )


def _overview(agent: Any, figures: dict[str, Any]) -> AgentOverview:
    uptime = (timezone.now() - agent.enabled_at).total_seconds() if agent.enabled else 0.0
    succeeded, failed = figures.get("succeeded", 0), figures.get("failed", 0)
    newest = agent.newest or {}
    times = [newest.get("at"), newest.get("ended")]
    seen = [agent.active, *(datetime.fromisoformat(time) for time in times if time)]
    metrics = AgentMetricsOut(
        runs=figures.get("runs", 0),
        succeeded=succeeded,
        failed=failed,
        success_rate=succeeded / (succeeded + failed) if succeeded + failed else None,
        average_seconds=figures.get("average"),
        input_tokens=figures.get("input_tokens", 0),
        output_tokens=figures.get("tokens", 0) - figures.get("input_tokens", 0),
        cost_usd=dollars(cost_of(figures)),
        uptime_seconds=max(0.0, uptime),
        last_activity=max(filter(None, seen), default=None),
    )
    return AgentOverview(agent, _state(agent), agent.shown, metrics)


def _state(agent: Any) -> AgentState:
    if not agent.enabled:
        return "stopped"
    if agent.live is not None:
        return "busy"
    failed = (RunStatus.FAILED, RunStatus.QUARANTINED)
    return "error" if agent.newest is not None and agent.newest["status"] in failed else "idle"


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


def _problem(agent: Any) -> str:
    newest = Run.objects.filter(pk=agent.newest["id"], private_to=None)
    error = newest.values_list("error", flat=True).first()
    return str(error["message"]) if error else ""
