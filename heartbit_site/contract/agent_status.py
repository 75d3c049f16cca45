"""Activity of agents, and how they are started, stopped and restarted."""

from __future__ import annotations

from agents.reads.views import AgentStatusOut
from heartbit_site.contract.model import Page
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Operation


class AgentStatusesOut(Page):
    """Activity of the workspace's agents."""

    agents: list[AgentStatusOut]


LIST_AGENT_STATUSES = Operation(
    "agent_status.list_agent_statuses", "GET /agent-statuses", AgentStatusesOut,
    "List agents' statuses", READ_AGENTS,
)  # fmt: skip
SHOW_AGENT_STATUS = Operation(
    "agent_status.show_agent_status", "GET /agents/{name}/status", AgentStatusOut,
    "Get an agent's status", READ_AGENTS,
)  # fmt: skip
START_AGENT = Operation(
    "agent_status.start_agent", "POST /agents/{name}/start", AgentStatusOut, "Start an agent",
    WRITE_AGENTS,
)  # fmt: skip
STOP_AGENT = Operation(
    "agent_status.stop_agent", "POST /agents/{name}/stop", AgentStatusOut, "Stop an agent",
    WRITE_AGENTS,
)  # fmt: skip
RESTART_AGENT = Operation(
    "agent_status.restart_agent", "POST /agents/{name}/restart", AgentStatusOut,
    "Restart an agent", WRITE_AGENTS,
)  # fmt: skip
