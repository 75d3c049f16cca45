"""Activity of agents; start, stop and restart."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasPath, Field

from heartbit_site.contract.agents import AgentMetricsOut
from heartbit_site.contract.model import Id, Next, Seconds, Time, View
from heartbit_site.contract.operation import READ_AGENTS, WRITE_AGENTS, Operation


class AgentToolsOut(View):
    """An agent's published tools, compared with what is installed."""

    loaded: list[str]
    changed: list[str] = Field(description="Defined otherwise now: refused until published again.")
    unknown: list[str] = Field(description="No app of the installation has them.")
    stopped: list[str] = Field(description="Loaded tools that are disabled: no call of them runs.")


class AgentQueueOut(View):
    """An agent's live runs."""

    name: str
    queued: int
    running: int
    waiting: int
    oldest_seconds: Seconds | None = Field(
        description="Age of the oldest queued run; null: none is queued."
    )


class WorkingRunOut(View):
    """A running run."""

    id: Id
    worker: str


class AgentStatusOut(View):
    """An agent's activity."""

    name: str = Field(validation_alias=AliasPath("overview", "agent", "name"))
    state: Literal["idle", "busy", "error", "stopped"] = Field(
        validation_alias=AliasPath("overview", "state")
    )
    enabled: bool = Field(validation_alias=AliasPath("overview", "agent", "enabled"))
    version: int | None = Field(
        None, validation_alias=AliasPath("overview", "agent", "current_version", "number")
    )
    uptime_seconds: Seconds = Field(
        validation_alias=AliasPath("overview", "metrics", "uptime_seconds"),
        description="Since it was last started; 0: it is stopped.",
    )
    last_activity: Time | None = Field(
        validation_alias=AliasPath("overview", "metrics", "last_activity")
    )
    runs: list[WorkingRunOut] = Field(validation_alias="working")
    tools: AgentToolsOut
    queue: AgentQueueOut
    metrics: AgentMetricsOut = Field(validation_alias=AliasPath("overview", "metrics"))
    problem: str = Field(
        description="Reason for the failure of its last run, when its state is error."
    )


class AgentStatusesOut(View):
    """Activity of the workspace's agents."""

    agents: list[AgentStatusOut]
    next_cursor: Next


LIST_AGENT_STATUSES = Operation(
    "agent_status.list_agent_statuses", "GET /agent-statuses", AgentStatusesOut,
    "List agents' statuses", READ_AGENTS, rows="agents",
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
