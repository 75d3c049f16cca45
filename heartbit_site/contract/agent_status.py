"""Activity of agents, and how they are started, stopped and restarted."""

from __future__ import annotations

from agents.reads.views import AgentStatusOut
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Noun


class AgentStatusesOut(Page):
    """Activity of the workspace's agents."""

    agents: list[AgentStatusOut]


NOUN = Noun("agent_status", read=READ_AGENTS, write=WRITE_AGENTS)

LIST_AGENT_STATUSES = NOUN.get(
    "list_agent_statuses", "/agent-statuses", AgentStatusesOut, "List agents' statuses"
)
SHOW_AGENT_STATUS = NOUN.get(
    "show_agent_status", "/agents/{name}/status", AgentStatusOut, "Get an agent's status"
)
START_AGENT = NOUN.post("start_agent", "/agents/{name}/start", AgentStatusOut)
STOP_AGENT = NOUN.post("stop_agent", "/agents/{name}/stop", AgentStatusOut)
RESTART_AGENT = NOUN.post("restart_agent", "/agents/{name}/restart", AgentStatusOut)
