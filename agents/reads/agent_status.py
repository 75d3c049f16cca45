"""Current status of agents: queue, running runs and availability of tools.

``agents.reads.metrics`` has their history.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Count, Min, Q
from django.utils import timezone

from agents.choices import RunStatus
from agents.limits.pauses import stopped_tools
from agents.models import Agent, Run
from agents.reads.metrics import AgentOverview, agents_with_metrics
from agents.reads.versions import find_editable
from agents.reads.views import AgentQueueOut, AgentStatusOut, AgentToolsOut, WorkingRunOut
from heartbit_site.base.models import Workspace
from heartbit_site.base.toolspec import ToolSpec
from tools.definitions.catalogue import catalogue
from tools.definitions.registry import definition_hash

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
    held = Run.objects.filter(status=RunStatus.RUNNING, version__agent=agent, worker__isnull=False)
    rows = held.order_by("-created_at").values_list("pk", "worker__name")[:AT_WORK]
    return [WorkingRunOut(id=str(pk), worker=worker) for pk, worker in rows]


def _problem(agent: Agent) -> str:
    ended = Run.objects.filter(
        workspace=agent.workspace_id, version__agent=agent, finished_at__isnull=False
    )
    error = ended.order_by("-created_at").values_list("error", flat=True).first()
    return str(error["message"]) if error else ""
