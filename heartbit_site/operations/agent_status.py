"""Activity of agents, and how they are started, stopped and restarted."""

from __future__ import annotations

from django.db import transaction

from agents.actions.fleet import Switch, set_agent_state
from agents.models import Agent
from agents.reads.agent_status import status_of, statuses
from agents.reads.versions import find_editable
from agents.reads.views import AgentStatusOut
from heartbit_site.base.access import Access
from heartbit_site.base.audit import actor_of, record_on
from heartbit_site.contract.agent_status import AgentStatusesOut
from heartbit_site.contract.model import USUAL, Cursor, Limit, Name
from heartbit_site.operations.paging import page


def list_agent_statuses(
    access: Access, *, cursor: Cursor = None, limit: Limit = USUAL
) -> AgentStatusesOut:
    """Return the activity of every agent, by name, unpublished ones included."""
    agents = Agent.objects.filter(workspace=access.workspace, origin="")
    rows, following = page(agents, "name", cursor, limit)
    found = statuses(access.workspace, names=[row.name for row in rows])
    return AgentStatusesOut(agents=found, next_cursor=following)


def show_agent_status(access: Access, name: Name) -> AgentStatusOut:
    """Return its state, uptime, running runs, tools and queue."""
    return status_of(access.workspace, name)


def start_agent(access: Access, name: Name) -> AgentStatusOut:
    """Start the agent: it accepts runs again, and its runs resume."""
    return _switch(access, name, "start")


def stop_agent(access: Access, name: Name) -> AgentStatusOut:
    """Stop the agent: it accepts no runs, and running ones are requeued; nothing is lost."""
    return _switch(access, name, "stop")


def restart_agent(access: Access, name: Name) -> AgentStatusOut:
    """Requeue the agent's running runs, so that they are claimed again; start a stopped agent."""
    return _switch(access, name, "restart")


@transaction.atomic
def _switch(access: Access, name: str, to: Switch) -> AgentStatusOut:
    agent = find_editable(access.workspace, name)
    if set_agent_state(agent, to):
        record_on(actor_of(access), f"agent.{to}", agent)
    return show_agent_status(access, name)
