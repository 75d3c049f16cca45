"""Start, stop and restart on an agent's page, and what it is doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import messages
from django.db import transaction
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from agents.actions.set_agent_state import Switch, set_agent_state
from agents.admin import formatting
from agents.models import Agent
from agents.reads.agent_status import statuses
from heartbit_site.base.admin.actions import DialogForm, dialog
from heartbit_site.base.admin.columns import format_datetime
from heartbit_site.base.admin.themed import ModelAdmin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.http import HttpRequest
    from django.utils.safestring import SafeString

    from agents.reads.agent_view import AgentStatusOut

DONE: dict[Switch, str] = {
    "start": "{} is started: its runs resume.",
    "stop": (
        "{} is stopped: it takes no runs; running runs are requeued at the end of their turn, and "
        "resume when it is started."
    ),
    "restart": "{} is restarted: running runs are requeued and resume.",
}


class AgentSwitches(ModelAdmin[Agent]):
    """Buttons of an agent's page."""

    switches = ("start_agent", "restart_agent", "stop_agent")

    @dialog(
        "Start agent",
        "It takes runs again, and its queued runs resume.",
        icon="power_settings_new",
        permission="switch",
        offered=lambda agent: not agent.enabled,
    )
    def start_agent(self, request: HttpRequest, agent: Agent, form: DialogForm) -> str:
        """Start it, and show its page again."""
        return self._switch(request, agent, "start")

    @dialog(
        "Restart agent",
        "Its running runs are requeued, and resume where they were.",
        icon="restart_alt",
        permission="switch",
        variant="DEFAULT",
        offered=lambda agent: agent.enabled,
    )
    def restart_agent(self, request: HttpRequest, agent: Agent, form: DialogForm) -> str:
        """Restart it, and show its page again."""
        return self._switch(request, agent, "restart")

    @dialog(
        "Stop agent",
        "It takes no runs. Running runs are requeued at the end of their turn; queued and waiting "
        "runs stay. Nothing is lost: all of them resume when the agent is started.",
        icon="pause_circle",
        permission="switch",
        variant="DANGER",
        offered=lambda agent: agent.enabled,
    )
    def stop_agent(self, request: HttpRequest, agent: Agent, form: DialogForm) -> str:
        """Stop it, and show its page again."""
        return self._switch(request, agent, "stop")

    def _switch_all(self, request: HttpRequest, agents: Iterable[Agent], to: Switch) -> int:
        """Return how many agents changed; ``response_action`` has the transaction."""
        done = [agent for agent in agents if set_agent_state(agent, to)]
        for agent in done:  # last: the audit's chain is locked from here on
            self.note(request, to, agent)
        return len(done)

    def _switch(self, request: HttpRequest, agent: Agent, to: Switch) -> str:
        with transaction.atomic():
            set_agent_state(agent, to)
            self.note(request, to, agent)
        messages.success(request, DONE[to].format(agent.name))
        return reverse("admin:agents_agent_change", args=[agent.pk])

    def now(self, agent: Agent) -> SafeString | str:
        """Return the agent's activity: state, queue, last failure, and changed tools."""
        if agent._state.adding:
            return "It starts with its first run."
        found = next(iter(statuses(agent.workspace, names=[agent.name])), None)
        if found is None:
            return "-"
        lines = format_html_join("", "<span>{}</span>", ((line,) for line in _lines(found)))
        state = formatting.agent_pill(found.state)
        return format_html('<p>{}</p><span class="hb-two">{}</span>', state, lines)


def _lines(found: AgentStatusOut) -> list[str]:
    queue, tools = found.queue, found.tools
    waits = "" if queue.oldest_seconds is None else f", the oldest for {queue.oldest_seconds:.0f} s"
    active = format_datetime(found.last_activity) if found.last_activity else "never"
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
