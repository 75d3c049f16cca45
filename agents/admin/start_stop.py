"""Start, stop and restart on an agent's page, and what it is doing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from agents.actions.set_agent_state import Switch, set_agent_state
from agents.admin import formatting
from agents.reads.agent_status import statuses
from heartbit_site.base.admin.themed import DialogForm, dialog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from django.utils.safestring import SafeString

    from agents.models import Agent
    from agents.reads.agent_view import AgentStatusOut

STOPPED = (
    "{} is stopped: it takes no runs; running runs are requeued at the end of their turn, and "
    "resume when it is started."
)
DONE: dict[Switch, str] = {
    "start": "{} is started: its runs resume.",
    "stop": STOPPED,
    "restart": "{} is restarted: running runs are requeued and resume.",
}


class AgentSwitches:
    """Mixed into the agents' admin."""

    switches = ("start_agent", "restart_agent", "stop_agent")

    def offered_switches(self, agent: Agent | None) -> set[str]:
        """Return the names of the actions that have an effect now."""
        if agent is None:
            return set()
        return {"stop_agent", "restart_agent"} if agent.enabled else {"start_agent"}

    @dialog(
        DialogForm,
        label="Start agent",
        explanation="It takes runs again, and its queued runs resume.",
        submit="Start",
        icon="power_settings_new",
        permissions=["switch"],
    )
    def start_agent(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Start it, and show its page again."""
        return self._switch(request, object_id, "start")

    @dialog(
        DialogForm,
        label="Restart agent",
        explanation="Its running runs are requeued, and resume where they were.",
        submit="Restart",
        icon="restart_alt",
        permissions=["switch"],
        variant="DEFAULT",
    )
    def restart_agent(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Restart it, and show its page again."""
        return self._switch(request, object_id, "restart")

    @dialog(
        DialogForm,
        label="Stop agent",
        explanation=(
            "It takes no runs. Running runs are requeued at the end of their turn; queued and "
            "waiting runs stay. Nothing is lost: all of them resume when the agent is started."
        ),
        submit="Stop",
        icon="pause_circle",
        permissions=["switch"],
        variant="DANGER",
    )
    def stop_agent(self, request: HttpRequest, form: DialogForm, object_id: str) -> HttpResponse:
        """Stop it, and show its page again."""
        return self._switch(request, object_id, "stop")

    def _switch_all(self, request: HttpRequest, agents: Iterable[Agent], to: Switch) -> int:
        """Return how many agents changed; ``response_action`` has the transaction."""
        this: Any = self
        done = [agent for agent in agents if set_agent_state(agent, to)]
        for agent in done:  # last: the audit's chain is locked from here on
            this.note(request, to, agent)
        return len(done)

    def _switch(self, request: HttpRequest, object_id: str, to: Switch) -> HttpResponse:
        this: Any = self
        agent: Agent | None = this.get_object(request, object_id)
        if agent is not None:
            with transaction.atomic():
                set_agent_state(agent, to)
                this.note(request, to, agent)
            messages.success(request, DONE[to].format(agent.name))
        return HttpResponse(
            headers={"HX-Redirect": reverse("admin:agents_agent_change", args=[object_id])}
        )

    @admin.display(description="now")
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
    active = formatting.format_datetime(found.last_activity) if found.last_activity else "never"
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
