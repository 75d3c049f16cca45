"""Views of agents: their figures and their activity. Needs no Django."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from heartbit_site.base.view import Id, Money, Seconds, Time, View

AgentState = Literal["idle", "busy", "error", "stopped"]


class AgentMetricsOut(View):
    """Figures of an agent's runs, as orchestrator and as sub-agent."""

    runs: int
    succeeded: int
    failed: int
    success_rate: float | None = Field(
        description="Share of successes among runs that succeeded or failed."
    )
    average_seconds: float | None
    input_tokens: int
    output_tokens: int
    cost_usd: Money | None = Field(description="Null: a price is unknown.")
    uptime_seconds: Seconds = Field(description="Since it was last enabled.")
    last_activity: Time | None


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

    name: str
    state: AgentState
    enabled: bool
    version: int | None = None
    uptime_seconds: Seconds = Field(description="Since it was last started; 0: it is stopped.")
    last_activity: Time | None
    runs: list[WorkingRunOut]
    tools: AgentToolsOut
    queue: AgentQueueOut
    metrics: AgentMetricsOut
    problem: str = Field(
        description="Reason for the failure of its last run, when its state is error."
    )
