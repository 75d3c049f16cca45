"""The fleet: the installation's workers and queues, and stop and restart of workers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from heartbit_site.contract.model import Id, Seconds, View
from heartbit_site.contract.operation import OPERATE, Operation
from heartbit_site.contract.pauses import PauseOut


class FleetRunOut(View):
    """A run that a worker holds."""

    id: Id
    agent: str
    workspace: str = Field(description="Its slug.")


class WorkerOut(View):
    """A worker process that has not left."""

    id: int
    name: str = Field(description="host:pid.")
    state: Literal["alive", "stale", "leaving"] = Field(
        description="stale: silent for longer than its lease; leaving: it was asked to."
    )
    requested_action: str = Field(description="What it was asked: stop, restart or nothing.")
    uptime_seconds: Seconds
    heartbeat_age_seconds: Seconds = Field(
        validation_alias="beat_seconds", description="Since it last proved that it lives."
    )
    slots: int = Field(description="Runs it holds at most.")
    slots_used: int = Field(validation_alias="used", description="Runs it holds.")
    queues: list[str] = Field(
        description="What it serves; none: it tries one suspicious run alone, and leaves."
    )
    runs: list[FleetRunOut] = Field(description="The first twenty of those it holds.")


class QueueOut(View):
    """A queue that is served, or that has runs."""

    name: str
    depth: int = Field(description="Runs that could start now.")
    blocked: int = Field(
        validation_alias="parked", description="Runs held back: a stop, or the pause."
    )
    running: int
    oldest_seconds: Seconds = Field(description="How long the first of them has waited.")
    has_workers: bool = Field(
        validation_alias="served", description="Whether a living worker serves it."
    )
    workers: int = Field(description="How many living workers serve it.")
    paused: bool = Field(description="Nothing is claimed from it.")


class FleetTotalsOut(View):
    """Of the workers that live."""

    workers: int = Field(validation_alias="alive")
    slots: int
    slots_used: int = Field(validation_alias="used")
    queued: int


class FleetOut(View):
    """The installation's workers and queues."""

    workers: list[WorkerOut]
    queues: list[QueueOut]
    totals: FleetTotalsOut
    pauses: list[PauseOut] = Field(description="What is held back, the first first.")
    problems: list[str] = Field(description="One sentence for each thing to look at.")


class WorkerActionOut(View):
    """What a worker was asked."""

    id: int
    requested_action: Literal["stop", "restart"]


SHOW_FLEET = Operation("fleet.show_fleet", "GET /fleet", FleetOut, "Get the fleet", OPERATE)
STOP_WORKER = Operation(
    "fleet.stop_worker", "POST /fleet/workers/{worker_id}/stop", WorkerActionOut, "Stop a worker",
    OPERATE,
)  # fmt: skip
RESTART_WORKER = Operation(
    "fleet.restart_worker", "POST /fleet/workers/{worker_id}/restart", WorkerActionOut,
    "Restart a worker", OPERATE,
)  # fmt: skip
