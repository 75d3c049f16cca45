"""What responses hold. Times are ISO 8601 in UTC, ids strings, money decimal text in US dollars."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema
from pydantic import Field, JsonValue

from heartbit_site.contract.model import Next  # noqa: TC001


class ProblemOut(Schema):
    """Something went wrong (RFC 9457)."""

    type: str = Field(description="A URI of the kind of problem: urn:heartbit:problem:CODE.")
    title: str = Field(description="The kind in a few words.")
    status: int = Field(description="The response's status.")
    detail: str = Field(description="One sentence for people: what was wrong, how to mend it.")
    code: str = Field(description="A word for programs, such as agent_not_found.")
    scope: str | None = Field(
        default=None, description="With forbidden: the scope that is missing, if it is one."
    )


class AgentMetricsOut(Schema):
    """What an agent has done so far, as orchestrator and as sub-agent."""

    runs: int
    succeeded: int
    failed: int
    success_rate: float | None = Field(description="Of the runs that ended by themselves.")
    average_seconds: float | None
    input_tokens: int
    output_tokens: int
    cost_usd: str | None = Field(description="Null: a price is unknown.")
    uptime_seconds: float = Field(description="Since it was last enabled.")
    last_activity: str | None


class AgentOut(Schema):
    """An agent, and what it is doing."""

    name: str
    description: str
    model: str = Field(description="Empty: the installation's default.")
    tools: list[str]
    team: list[str]
    queue: str
    version: int
    state: Literal["idle", "busy", "error", "stopped"]
    current_run: str | None
    metrics: AgentMetricsOut


class AgentDetailOut(AgentOut):
    """An agent, what it is doing, and everything that may be edited."""

    definition: dict[str, JsonValue] = Field(
        description="As POST and PATCH take it: the keys of an [[agents]] table of heartbit.toml."
    )


class AgentsOut(Schema):
    """The workspace's published agents."""

    agents: list[AgentOut]
    next: Next


class ToolOut(Schema):
    """A tool that agents can be given."""

    name: str
    description: str
    effect: str
    parameters: dict[str, Any] = Field(description="JSON Schema of its arguments.")


class ToolsOut(Schema):
    """The installation's tools."""

    tools: list[ToolOut]
    next: Next
