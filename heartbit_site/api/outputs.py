"""What responses hold. Times are ISO 8601 in UTC, ids strings, money decimal strings in US dollars.

A run is what ``heartbit status RUN --json`` prints, with more: names that both have mean the same.
"""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema
from pydantic import Field, JsonValue

from heartbit_site.contract.model import Next  # noqa: TC001

Status = Literal["queued", "running", "waiting", "succeeded", "failed", "cancelled", "quarantined"]


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


class UsageOut(Schema):
    """Tokens of a run's own model calls."""

    input_tokens: int
    output_tokens: int


class RunSummaryOut(Schema):
    """A run in a list; its answer and the whole of its input are in `GET /runs/{id}`."""

    run: str
    root: str = Field(description="The run at the top of its tree.")
    parent: str | None
    conversation: str | None
    forked_from: str | None = Field(description="The run with whose journal it began.")
    agent: str
    home: str
    model: str
    status: Status
    task: str = Field(description="Its first 500 characters, the last of them … if it is longer.")
    task_characters: int = Field(description="Length of the whole task.")
    error: dict[str, Any] | None
    usage: UsageOut
    cost_usd: str | None = Field(description="Of its own model calls; null: a price is unknown.")
    started_by: str = Field(
        description="A person, or a key; empty: nobody is named, or it is a sub-agent's run."
    )
    approve: bool
    priority: int
    queue: str
    last_seq: int = Field(description="Of its last event.")
    created_at: str
    started_at: str | None
    finished_at: str | None


class RunOut(RunSummaryOut):
    """A run."""

    task: str
    payload: dict[str, JsonValue] | None
    output: str | None
    structured: JsonValue = Field(description="The answer as the agent's response schema wants it.")


class ArtifactOut(Schema):
    """One thing that a run produced."""

    kind: Literal["code", "file", "data", "log"]
    name: str
    content: str
    language: str


class MetricsOut(Schema):
    """What a run took; the one at the top of a tree with its sub-agents."""

    duration_ms: int
    queued_ms: int
    model_calls: int
    tool_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: str | None = Field(description="Null: a price is unknown.")


class ResultOut(Schema):
    """What a run gave."""

    status: Literal["success", "failure", "partial"]
    data: JsonValue
    text: str
    artifacts: list[ArtifactOut]
    metrics: MetricsOut
    error: str | None
    finish_reason: str | None = Field(description="length: the answer was cut at max_tokens.")


class RunTreeOut(RunOut):
    """A run with its sub-agents."""

    children: list[RunTreeOut]


class RunDetailOut(RunTreeOut):
    """A run with its sub-agents and, once it has ended, its result."""

    result: ResultOut | None
    has_worker: bool = Field(description="Whether a worker serves its queue now.")


class ForkOut(Schema):
    """A run that began with another's journal."""

    run: str
    turn: int = Field(description="The last turn that it kept; 0: the task alone.")


class RunSeenOut(RunDetailOut):
    """A run that is looked at, also with what is in its way and what came of it."""

    held: str = Field(
        description="Why nobody takes it while it is queued, as a sentence; empty: nothing known."
    )
    forks: list[ForkOut] = Field(description="The newest runs that began with its journal.")


class RunPageOut(Schema):
    """Runs that were asked for, the newest first; sub-agents are in their run's tree."""

    runs: list[RunSummaryOut]
    next: Next


class RunResultOut(Schema):
    """How a run ended; ``result`` is null as long as it has not."""

    run: str
    status: Status
    result: ResultOut | None


class RunStateOut(Schema):
    """Where a run is."""

    run: str
    status: Status


class ConversationOut(Schema):
    """A thread."""

    conversation: str
    agent: str
    title: str
    second_message: str
    created_at: str


class PostedOut(Schema):
    """What became of a message."""

    run: str
    outcome: Literal["new", "held", "steered"] = Field(
        description="new: it starts now; held: after the run before it; steered: that run was told."
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


class HealthOut(Schema):
    """The server answers, and so does its database."""

    status: Literal["ok"]
