"""Current status of agents: queue, running runs and availability of tools.

``agents.reads.metrics`` has their history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db.models import Count, Min, Q
from django.utils import timezone

from agents.choices import RunStatus
from agents.limits.pauses import stopped_tools
from agents.models import Run
from agents.reads.metrics import AgentOverview, agents_with_metrics
from agents.reads.versions import find_editable
from tools.catalogue import catalogue
from tools.registry import definition_hash

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime
    from uuid import UUID

    from agents.models import Agent
    from heartbit_site.base.models import Workspace
    from heartbit_site.base.toolspec import ToolSpec

AT_WORK = 20


@dataclass(frozen=True, slots=True)
class AgentTools:
    """Tools of an agent's published version.

    Attributes:
        loaded: Available with their published definition.
        changed: Available with another definition: refused to the model until the agent is
            published again.
        unknown: Not provided by any app of this installation.
        stopped: Loaded but disabled, so that their calls are not run.
    """

    loaded: tuple[str, ...]
    changed: tuple[str, ...]
    unknown: tuple[str, ...]
    stopped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AgentQueue:
    """Live runs of an agent, on the fleet and local, as orchestrator and as sub-agent.

    Attributes:
        oldest_seconds: Seconds since the oldest queued run became due; None: no run is queued and
            due.
    """

    name: str
    queued: int
    running: int
    waiting: int
    oldest_seconds: float | None


@dataclass(frozen=True, slots=True)
class WorkingRun:
    """A run that a process holds."""

    id: UUID
    worker: str


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """Status of an agent.

    Attributes:
        working: Running runs, the newest first, at most ``AT_WORK``.
        problem: Error of the agent's last run, if its state is ``error``.
    """

    overview: AgentOverview
    tools: AgentTools
    queue: AgentQueue
    working: tuple[WorkingRun, ...]
    problem: str


def statuses(workspace: Workspace, *, names: Collection[str]) -> list[AgentStatus]:
    """Return the status of the editable agents with these names, sorted by name."""
    found = agents_with_metrics(workspace, names=names)
    live = _live(workspace, names)
    stopped = stopped_tools(workspace)
    known = catalogue(workspace.pk)
    return [
        _status(one, live.get(one.agent.pk, {}), tools_of(one.agent, known, stopped))
        for one in found
    ]


def status_of(workspace: Workspace, name: str) -> AgentStatus:
    """Return the status of one agent.

    Raises:
        AgentNotFoundError: No agent has that name; the message lists those that exist.
    """
    return statuses(workspace, names=[find_editable(workspace, name).name])[0]


def tools_of(agent: Agent, known: Mapping[str, ToolSpec], stopped: Collection[str]) -> AgentTools:
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
    held = tuple(name for name in loaded if name in stopped)
    return AgentTools(tuple(loaded), tuple(changed), tuple(unknown), held)


def _status(overview: AgentOverview, live: dict[str, Any], tools: AgentTools) -> AgentStatus:
    agent = overview.agent
    return AgentStatus(
        overview=overview,
        tools=tools,
        queue=AgentQueue(
            name=agent.queue,
            queued=live.get("queued", 0),
            running=live.get("running", 0),
            waiting=live.get("waiting", 0),
            oldest_seconds=_since(live.get("oldest")),
        ),
        working=_working(agent) if live.get("running") else (),
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


def _working(agent: Agent) -> tuple[WorkingRun, ...]:
    held = Run.objects.filter(status=RunStatus.RUNNING, version__agent=agent, worker__isnull=False)
    rows = held.order_by("-created_at").values_list("pk", "worker__name")[:AT_WORK]
    return tuple(WorkingRun(pk, worker) for pk, worker in rows)


def _problem(agent: Agent) -> str:
    ended = Run.objects.filter(
        workspace=agent.workspace_id, version__agent=agent, finished_at__isnull=False
    )
    error = ended.order_by("-created_at").values_list("error", flat=True).first()
    return str(error["message"]) if error else ""
