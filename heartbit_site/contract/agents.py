"""Agents: what they have done."""

from __future__ import annotations

from pydantic import Field

from heartbit_site.contract.model import Money, Seconds, Time, View


class AgentMetricsOut(View):
    """What an agent has done so far, as orchestrator and as sub-agent."""

    runs: int
    succeeded: int
    failed: int
    success_rate: float | None = Field(description="Of the runs that ended by themselves.")
    average_seconds: float | None
    input_tokens: int
    output_tokens: int
    cost_usd: Money | None = Field(description="Null: a price is unknown.")
    uptime_seconds: Seconds = Field(description="Since it was last enabled.")
    last_activity: Time | None
