"""Views of the fleet: its workers, queues and pauses. Needs no Django."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field

from heartbit_site.base.view import Id, Seconds, Time, View

HeldKind = Literal["queue", "workspace", "tool", "all"]
WorkerState = Literal["alive", "stale", "leaving"]


class PausedOut(View):
    """A target of pauses."""

    kind: HeldKind
    name: str = Field(
        description="The queue's, the tool's, or the workspace's slug; empty: everything."
    )
    workspace: str = Field(
        description="Of a tool that is stopped in one workspace alone, its slug; else empty."
    )

    @classmethod
    def of(cls, row: Any, **more: Any) -> Self:
        """Return the view of a pause, or of what is paused."""
        slug = row.workspace.slug if row.workspace is not None else ""
        name, place = row.queue or row.tool or slug, slug if row.tool else ""
        return super().of(row, name=name, workspace=place, **more)


class PauseOut(PausedOut):
    """Something that is held back."""

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
        description="Queues that it consumes; none: it tries one suspicious run alone, and leaves."
    )
    runs: list[FleetRunOut] = Field(description="The first twenty of those it holds.")


class QueueOut(View):
    """A queue that is served, or that has runs."""

    name: str
    depth: int = Field(description="Runs that could start now.")
    blocked: int = Field(description="Runs held back: a stop, or the pause.")
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
