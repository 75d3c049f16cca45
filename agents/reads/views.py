"""Views of agents, of the fleet and of a workspace's usage. Needs no Django."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field

from heartbit_site.base.budget_scope import describe_scope
from heartbit_site.base.view import Id, Money, Seconds, Time, View

AgentState = Literal["idle", "busy", "error", "stopped"]


class AgentMetricsOut(View):
    """Figures of an agent's runs, as orchestrator and as sub-agent, also of deleted ones.

    A run counts when it is accepted; its end and duration when its tree ends.
    """

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


class WorkflowFiguresOut(View):
    """Figures of the runs of a workflow, or of all workflows of a pattern, of the last 30 days.

    A run counts when it is accepted; its success, duration and cost when its tree ends.
    """

    runs: int
    succeeded: int
    failed: int
    success_rate: float | None = Field(
        description="Share of successes among runs that succeeded or failed."
    )
    median_seconds: Seconds | None = Field(
        description="Median from the start to the end, at most 5 % off."
    )
    cost_usd: Money | None = Field(
        description="US dollars, nodes' runs included. Null: a price is unknown."
    )


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


HeldKind = Literal["queue", "workspace", "tool", "all"]
WorkerState = Literal["alive", "stale", "leaving"]


class PausedOut(View):
    """A target of pauses."""

    kind: HeldKind
    name: str = Field(
        description="The queue's, the tool's, or the workspace's slug; empty: everything."
    )
    workspace: str = Field(
        description="Slug of the only workspace in which a tool is stopped; else empty."
    )

    @classmethod
    def of(cls, row: Any, **more: Any) -> Self:
        """Return the view of a pause, or of what is paused."""
        slug = row.workspace.slug if row.workspace is not None else ""
        name, place = row.queue or row.tool or slug, slug if row.tool else ""
        return super().of(row, name=name, workspace=place, **more)


class PauseOut(PausedOut):
    """A pause: what it stops, and why."""

    reason: str
    by: str
    by_operator: bool = Field(
        description="An operator placed it, and only operators end it; "
        "else it is the workspace's own."
    )
    at: Time


class FleetRunOut(View):
    """A run that a worker holds."""

    id: Id
    agent: str
    workspace: str = Field(description="Slug of the workspace.")


class WorkerOut(View):
    """A worker process that has not left."""

    id: int
    name: str = Field(description="host:pid.")
    state: WorkerState = Field(
        description="stale: silent for longer than its lease; leaving: it was asked to."
    )
    requested_action: str = Field(description="Requested action: stop, restart or none.")
    uptime_seconds: Seconds
    heartbeat_age_seconds: Seconds = Field(description="Since it last proved that it lives.")
    slots: int = Field(description="Runs it holds at most.")
    slots_used: int = Field(description="Runs it holds.")
    queues: list[str] = Field(
        description="Queues that it consumes; none: it executes suspect runs and exits."
    )
    runs: list[FleetRunOut] = Field(description="The first twenty runs that it executes.")


class QueueOut(View):
    """A queue that is served, or that has runs."""

    name: str
    depth: int = Field(description="Runs that could start now.")
    blocked: int = Field(description="Queued runs that may not start: a stop, or the pause.")
    running: int
    oldest_seconds: Seconds = Field(description="Age of the oldest queued run.")
    has_workers: bool = Field(description="True if a living worker consumes it.")
    workers: int = Field(description="Count of living workers that consume it.")
    paused: bool = Field(description="Nothing is claimed from it.")


class FleetTotalsOut(View):
    """Totals of the living workers."""

    workers: int
    slots: int
    slots_used: int
    queued: int


class FleetOut(View):
    """The installation's workers and queues."""

    workers: list[WorkerOut]
    queues: list[QueueOut]
    totals: FleetTotalsOut
    pauses: list[PauseOut] = Field(description="Pauses and stops, the first first.")
    problems: list[str] = Field(description="One sentence for each thing to look at.")


State = Literal["unlimited", "ok", "warning", "exceeded"]


#: A name that rows leave empty if there is none.
NameOrNull = Annotated[str | None, BeforeValidator(lambda name: name or None)]


class CountGaugeOut(View):
    """A count, and the limit that it has."""

    used: int
    limit: int | None = Field(description="Null: no limit.")
    percent: int | None = Field(description="Percentage of the limit; it may exceed 100.")
    state: State = Field(
        description="warning: the percentage that warns is reached; exceeded: nothing is left."
    )


class MoneyGaugeOut(View):
    """An amount of US dollars, and the limit that it has."""

    used: Money
    limit: Money | None = Field(description="Null: no limit.")
    percent: int | None = Field(description="Percentage of the limit; it may exceed 100.")
    state: State


class BudgetUseOut(View):
    """A budget, and what was spent of it in this period."""

    agent: NameOrNull = Field(description="Agent whose runs count; null: all agents.")
    person: NameOrNull = Field(description="Person whose runs count; null: everyone's.")
    schedule: NameOrNull = Field(description="Schedule whose runs count; null: all runs.")
    period: Literal["day", "month"]
    tokens: CountGaugeOut | None = Field(description="Null: it does not limit them.")
    usd: MoneyGaugeOut | None = Field(description="Null: it does not limit it.")

    @property
    def whose(self) -> str:
        """Whose runs count; empty: all of the workspace."""
        return describe_scope(self.agent or "", self.person or "", self.schedule or "")


class AgentUseOut(View):
    """Use of an agent's runs this month."""

    agent: NameOrNull = Field(description="Null: of runs that are deleted by now.")
    runs: int = Field(description="Runs, delegated ones included.")
    tokens: int
    cost_usd: Money = Field(description="US dollars of the calls whose price is known.")
    unpriced_calls: int


class DayUseOut(View):
    """Use of one day."""

    day: date = Field(description="UTC, as 2026-11-22.")
    runs: int = Field(description="Runs started by people and keys that are not archived.")
    failed: int = Field(description="Failed and quarantined runs among them.")
    tokens: int
    cost_usd: Money


class WorkspaceUsageOut(View):
    """Use of the workspace. Days and months begin at midnight UTC."""

    tier: NameOrNull = Field(description="Null: only budgets limit the workspace.")
    runs_today: CountGaugeOut
    tokens_this_month: CountGaugeOut
    usd_this_month: MoneyGaugeOut
    runs_at_once: CountGaugeOut = Field(description="Runs of the fleet that are running now.")
    queued: int = Field(description="Runs that could start now if there were room.")
    memory_days: int | None = Field(
        None, description="Days without use until a memory is erased; null: never."
    )
    unpriced_calls: int = Field(description="Calls of this month whose price is unknown.")
    day_ends: Time
    month_ends: Time
    budgets: list[BudgetUseOut]
    agents: list[AgentUseOut] = Field(description="The first 100, the most expensive first.")
    days: list[DayUseOut] = Field(description="The last 30, today last.")
