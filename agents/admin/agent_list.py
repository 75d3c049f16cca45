"""Agents in the admin: what each one is and does, how its newest run is doing, start and stop."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agents.actions.fleet import Switch, set_agent_state
from agents.admin import formatting
from agents.choices import RunStatus
from agents.models import Agent, Run
from agents.models.workflow import KIND as WORKFLOW
from agents.reads.agent_status import newest_run, statuses
from agents.reads.views import AgentStatusOut
from heartbit_site.admin.actions import DialogForm, dialog
from heartbit_site.admin.columns import Column, pill, two_lines
from heartbit_site.admin.themed import ModelAdmin
from heartbit_site.base import amounts
from heartbit_site.shell.moment import moment, short

_FAILED = (RunStatus.FAILED, RunStatus.QUARANTINED)
DONE: dict[Switch, str] = {
    "start": "{} is started: its runs resume.",
    "stop": (
        "{} is stopped: it takes no runs; running runs are interrupted at once, and "
        "repeat the step they were in when it is started."
    ),
    "restart": "{} is restarted: running runs are requeued and resume.",
}


class AgentList(ModelAdmin[Agent]):
    """Columns of the list of agents, actions on chosen agents, and the buttons of one's page."""

    list_display: tuple[str, ...] = (
        *("who", "workspace", "state", "uses", "members", "published", "last_status", "last_time"),
    )
    list_select_related = ("current_version", "workspace")
    list_filter = ("workspace", "enabled")
    search_fields = ("name", "description")
    actions = ("start_again", "stop")
    switches = ("start_agent", "restart_agent", "stop_agent")
    live = "definitions runs"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Agent]:
        """Return the rows that people edit; a list adds runs, and workflows have their own."""
        rows = super().get_queryset(request).filter(origin="")
        page = request.resolver_match.url_name if request.resolver_match else ""
        if page == "agents_agent_changelist":
            return _with_runs(rows.exclude(kind=WORKFLOW)).prefetch_related("team")
        return _with_runs(rows) if page == "agents_workflow_changelist" else rows

    who = Column[Agent]("agent", lambda row: two_lines(row.name, row.description), ordering="name")
    state = Column[Agent]("state", lambda row: formatting.agent_pill(_state(row)))
    uses = Column[Agent]("model", lambda row: row.model or "Default", ordering="model")
    members = Column[Agent](
        "team", lambda row: ", ".join(member.name for member in row.team.all()) or "-"
    )
    published = Column[Agent](
        "version",
        lambda row: f"v{row.current_version.number}" if row.current_version else "Not published",
    )

    @admin.display(description="last run")
    def last_status(self, agent: Any) -> SafeString:
        """Return the newest run's status as a link to the run."""
        if agent.last_run is None:
            return pill("Never")
        url = formatting.run_url(agent.workspace, agent.last_run["id"])
        status = formatting.run_pill(agent.last_run["status"])
        return format_html('<a href="{}">{}</a>', url, status)

    @admin.display(description="when")
    def last_time(self, agent: Any) -> str:
        """Return the time at which the newest run was accepted."""
        return moment(datetime.fromisoformat(agent.last_run["at"])) if agent.last_run else "-"

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

    @dialog(
        "Start again",
        "It takes runs again, and its queued runs resume.",
        icon="power_settings_new",
        permission="switch",
        offered=lambda agent: not agent.enabled,
    )
    def start_agent(self, request: HttpRequest, agent: Agent, form: DialogForm) -> None:
        """Start it, and show its page again."""
        self._switch(request, agent, "start")

    @dialog(
        "Restart",
        "Its running runs are requeued, and resume where they were.",
        icon="restart_alt",
        permission="switch",
        variant="DEFAULT",
        offered=lambda agent: agent.enabled,
    )
    def restart_agent(self, request: HttpRequest, agent: Agent, form: DialogForm) -> None:
        """Restart it, and show its page again."""
        self._switch(request, agent, "restart")

    @dialog(
        "Stop",
        "It takes no runs. Running runs are interrupted at once, even in the middle of an answer, "
        "and requeued; an effect that a tool has begun ends first. Queued and waiting runs stay. "
        "All of them go on when the agent is started: what was interrupted begins again.",
        icon="pause_circle",
        permission="switch",
        variant="DANGER",
        offered=lambda agent: agent.enabled,
    )
    def stop_agent(self, request: HttpRequest, agent: Agent, form: DialogForm) -> None:
        """Stop it, and show its page again."""
        self._switch(request, agent, "stop")

    def _switch_all(self, request: HttpRequest, agents: Iterable[Agent], to: Switch) -> int:
        """Return how many agents changed, in the caller's transaction."""
        done = [agent for agent in agents if set_agent_state(agent, to)]
        for agent in done:  # last: the audit's chain is locked from here on
            self.note(request, to, agent)
        return len(done)

    def _switch(self, request: HttpRequest, agent: Agent, to: Switch) -> None:
        with transaction.atomic():
            self._switch_all(request, [agent], to)
        messages.success(request, DONE[to].format(agent.name))

    def now(self, agent: Any) -> SafeString | str:
        """Return the agent's activity: state, queue, last failure, and changed tools.

        It is read once for a page, whose template asks several times.
        """
        if not hasattr(agent, "activity"):
            agent.activity = self._activity(agent)
        activity: SafeString | str = agent.activity
        return activity

    def _activity(self, agent: Agent) -> SafeString | str:
        if agent._state.adding:
            return "It starts with its first run."
        found = next(iter(statuses(agent.workspace, names=[agent.name])), None)
        if found is None:
            return "-"
        lines = format_html_join("", "<span>{}</span>", ((line,) for line in _lines(found)))
        state = formatting.agent_pill(found.state)
        return format_html('<p>{}</p><span class="hb-two">{}</span>', state, lines)


def _state(agent: Any) -> str:
    """Return the state as ``agents.reads.agent_status`` does, from what the list has read."""
    if not agent.enabled:
        return "stopped"
    if agent.has_live_run:
        return "busy"
    return "error" if agent.last_run and agent.last_run["status"] in _FAILED else "idle"


def _with_runs(agents: QuerySet[Agent]) -> QuerySet[Agent]:
    """Agents with ``has_live_run`` and ``last_run``: the newest one's id, status, time, or null."""
    live = Run.objects.filter(version__agent=OuterRef("pk"), finished_at__isnull=True)
    return agents.annotate(last_run=newest_run(), has_live_run=Exists(live))


def _lines(found: AgentStatusOut) -> list[str]:
    queue, tools = found.queue, found.tools
    waits = "" if queue.oldest_seconds is None else f", the oldest for {queue.oldest_seconds:.0f} s"
    active = short(found.last_activity) if found.last_activity else "never"
    wrong = [
        *(f"{name}: its definition has changed" for name in tools.changed),
        *(f"{name}: unknown here" for name in tools.unknown),
        *(f"{name}: stopped" for name in tools.stopped),
    ]
    return [
        f"{queue.running} running, {queue.queued} queued{waits}, {queue.waiting} waiting",
        f"Last active: {active}",
        f"Tools loaded: {', '.join(tools.loaded) or 'none'}",
        *(["Tools refused: " + "; ".join(wrong)] if wrong else []),
        *([f"Last failure: {found.problem}"] if found.problem else []),
    ]
