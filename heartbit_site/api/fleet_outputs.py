"""What responses about the fleet, and about what agents are doing, hold."""

from __future__ import annotations

from typing import Literal

from ninja import Schema
from pydantic import Field

from heartbit_site.contract.agents import AgentMetricsOut  # noqa: TC001  pydantic evaluates it

HeldKind = Literal["queue", "workspace", "tool", "all"]
NAME = "The queue's, the tool's, or the workspace's slug; empty: everything."
PLACE = "Of a tool that is stopped in one workspace alone, its slug; else empty."


class FleetRunOut(Schema):
    """A run that a worker holds."""

    run: str
    agent: str
    workspace: str = Field(description="Its slug.")


class WorkerOut(Schema):
    """A worker process that has not left."""

    id: int
    name: str = Field(description="host:pid.")
    state: Literal["alive", "stale", "leaving"] = Field(
        description="stale: silent for longer than its lease; leaving: it was asked to."
    )
    wanted: str = Field(description="What it was asked: stop, restart or nothing.")
    uptime_seconds: float
    beat_seconds: float = Field(description="Since it last proved that it lives.")
    slots: int = Field(description="Runs it holds at most.")
    used: int = Field(description="Runs it holds.")
    queues: list[str] = Field(
        description="What it serves; none: it tries one suspicious run alone, and leaves."
    )
    runs: list[FleetRunOut] = Field(description="The first twenty of those it holds.")


class QueueOut(Schema):
    """A queue that is served, or that has runs."""

    name: str
    depth: int = Field(description="Runs that could start now.")
    parked: int = Field(description="Runs held back: a stop, or the pause.")
    running: int
    oldest_seconds: float = Field(description="How long the first of them has waited.")
    served: bool = Field(description="Whether a living worker serves it.")
    workers: int = Field(description="How many living workers serve it.")
    paused: bool = Field(description="Nothing is claimed from it.")


class PauseOut(Schema):
    """Something that is held back."""

    kind: HeldKind
    name: str = Field(description=NAME)
    workspace: str = Field(description=PLACE)
    reason: str
    by: str
    by_operator: bool = Field(
        description="An operator placed it, and only operators end it; "
        "else it is the workspace's own."
    )
    at: str


class HeldOut(Schema):
    """What was held back, or goes on."""

    kind: HeldKind
    name: str = Field(description=NAME)
    workspace: str = Field(description=PLACE)
    held: bool = Field(description="Whether it is held back now; an operator's stop may hold on.")
    changed: bool = Field(description="Whether the request changed that.")


class FleetTotalsOut(Schema):
    """Of the workers that live."""

    workers: int
    slots: int
    used: int
    queued: int


class FleetOut(Schema):
    """The installation's workers and queues."""

    workers: list[WorkerOut]
    queues: list[QueueOut]
    totals: FleetTotalsOut
    pauses: list[PauseOut] = Field(description="What is held back, the first first.")
    problems: list[str] = Field(description="One sentence for each thing to look at.")


class WorkerAskedOut(Schema):
    """What a worker was asked."""

    id: int
    wanted: Literal["stop", "restart"]


class AgentToolsOut(Schema):
    """An agent's published tools, compared with what is installed."""

    loaded: list[str]
    changed: list[str] = Field(description="Defined otherwise now: refused until published again.")
    unknown: list[str] = Field(description="No app of the installation has them.")
    stopped: list[str] = Field(description="Of those loaded: no call of them is run now.")


class AgentQueueOut(Schema):
    """An agent's live runs."""

    name: str
    queued: int
    running: int
    waiting: int
    oldest_seconds: float | None = Field(description="Of the queued; null: none could start.")


class WorkingRunOut(Schema):
    """A run at work."""

    run: str
    worker: str


class AgentStatusOut(Schema):
    """What an agent is doing."""

    name: str
    state: Literal["idle", "busy", "error", "stopped"]
    enabled: bool
    version: int | None
    uptime_seconds: float = Field(description="Since it was last started; 0: it is stopped.")
    last_activity: str | None
    runs: list[WorkingRunOut]
    tools: AgentToolsOut
    queue: AgentQueueOut
    metrics: AgentMetricsOut
    problem: str = Field(description="Why its last run failed, when its state is error.")
