"""The list of agents: what each one is, whether it works, how its newest run is doing."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.contrib import admin, messages
from django.utils.html import format_html

from agents.admin import formatting, queries
from agents.admin.links import run_url
from agents.admin.start_stop import AgentSwitches
from agents.choices import RunStatus
from agents.models import Agent
from heartbit_site.base import amounts
from heartbit_site.base.admin.columns import Column, clock, pill, two_lines

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django.http import HttpRequest
    from django.utils.safestring import SafeString


class AgentList(AgentSwitches):
    """Columns of the list of agents, and actions on chosen agents."""

    list_display = ("who", "state", "uses", "members", "published", "last_status", "last_time")
    list_select_related = ("current_version", "workspace")
    list_filter = ("workspace", "enabled")
    search_fields = ("name", "description")
    actions = ("start_again", "stop")
    live = "runs"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        """Return the agents that people edit; the list adds team and runs."""
        agents = super().get_queryset(request).filter(origin="")
        if request.resolver_match and request.resolver_match.url_name == "agents_agent_changelist":
            return queries.with_runs(agents).prefetch_related("team")
        return agents

    who = Column[Agent]("agent", lambda row: two_lines(row.name, row.description), ordering="name")
    state = Column[Agent]("state", lambda row: formatting.agent_pill(_state(row)))
    uses = Column[Agent]("model", lambda row: row.model or "default", ordering="model")

    @admin.display(description="team")
    def members(self, agent: Agent) -> str:
        """Return the sub-agents that the agent may delegate to."""
        return ", ".join(member.name for member in agent.team.all()) or "-"

    @admin.display(description="version")
    def published(self, agent: Agent) -> str:
        """Return the version that the next run is pinned to."""
        version = agent.current_version
        return f"v{version.number}" if version else "not published"

    @admin.display(description="last run")
    def last_status(self, agent: Agent) -> SafeString:
        """Return the newest run's status as a link to the run."""
        run = _last_run(agent)
        if run is None:
            return pill("never")
        url = run_url(agent.workspace, run["id"])
        return format_html('<a href="{}">{}</a>', url, formatting.run_pill(run["status"]))

    @admin.display(description="when")
    def last_time(self, agent: Agent) -> str:
        """Return the time at which the newest run was accepted."""
        run = _last_run(agent)
        return clock(datetime.fromisoformat(run["at"])) if run else "-"

    @admin.action(description="Start", permissions=["change"])
    def start_again(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        """Let the agents take runs again, and resume the runs that they had."""
        count = self._switch_all(request, agents, "start")
        messages.success(request, f"{amounts.counted(count, 'agent')} started.")

    @admin.action(description="Stop", permissions=["change"])
    def stop(self, request: HttpRequest, agents: QuerySet[Agent]) -> None:
        """Stop the agents: running runs are requeued and resume when the agents are started."""
        count = self._switch_all(request, agents, "stop")
        messages.success(
            request,
            f"{amounts.counted(count, 'agent')} stopped. "
            "Live runs are kept, and resume at its start.",
        )


def _last_run(agent: Agent) -> dict[str, str] | None:
    found: dict[str, str] | None = getattr(agent, "last_run", None)
    return found


def _state(agent: Agent) -> str:
    """Return the state as ``agents.reads.metrics`` does, from what the list has read already."""
    if not agent.enabled:
        return "stopped"
    if getattr(agent, "has_live_run", False):
        return "busy"
    run = _last_run(agent)
    failed = run is not None and run["status"] in (RunStatus.FAILED, RunStatus.QUARANTINED)
    return "error" if failed else "idle"
