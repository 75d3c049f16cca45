"""What responses about schedules hold."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema
from pydantic import Field, JsonValue

from heartbit_site.contract.model import Next  # noqa: TC001
from heartbit_site.contract.runs import Status  # noqa: TC001  pydantic evaluates the annotations

DeliveryState = Literal["pending", "delivered", "failed"]
FiringState = Literal["started", "held", "skipped", "failed"]


class SlotOut(Schema):
    """A point in time at which something comes due, without jitter."""

    at: str
    words: str = Field(description="In its time zone: Mon 23 Nov 2026, 09:00 (Europe/Berlin).")


class RhythmOut(Schema):
    """When something comes due."""

    words: str = Field(description="How people say it: At 09:00 on Monday (Europe/Berlin).")
    next: list[SlotOut] = Field(description="The next five; fewer, or none: no more come.")


class FiringOut(Schema):
    """What became of a slot."""

    slot: str = Field(description="When it was due; of a manual one, when somebody asked for it.")
    cause: Literal["slot", "manual", "backfill"]
    status: FiringState = Field(
        description=(
            "started: it has a run, see run_status; held: it starts when the run before it has "
            "ended, or when it can: see note."
        )
    )
    note: str = Field(description="Why it was skipped, held back or failed.")
    run: str | None
    run_status: Status | None = Field(description="Null: it has no run, or that is archived.")
    delivery_status: DeliveryState | None = Field(
        description="failed: at least one of its deliveries; null: nothing is delivered."
    )
    created_at: str


class FiringsOut(Schema):
    """What became of a schedule's slots, the latest first."""

    firings: list[FiringOut]
    next: Next


class ScheduleSummaryOut(RhythmOut):
    """A schedule in a list; the whole of its task is in `GET /schedules/{schedule}`."""

    schedule: int = Field(description="Its number, which names it in addresses as its name does.")
    name: str
    agent: str
    agent_enabled: bool = Field(description="Slots of a stopped agent wait.")
    task_type: Literal["system_prompt", "message", "tool_call"]
    task: str = Field(description="Its first 500 characters, the last of them … if it is longer.")
    task_characters: int = Field(description="Length of the whole task.")
    tool: str
    kind: Literal["cron", "interval", "once"]
    cron: str | None
    every_seconds: int | None
    at: str | None
    time_zone: str
    begins_at: str
    ends_at: str | None
    missed: Literal["skip", "one", "all"]
    overlap: Literal["skip", "queue", "parallel"]
    jitter_seconds: int
    approve: bool
    enabled: bool
    conversation: str | None = Field(description="Where its messages go; null: none was sent yet.")
    next_at: str | None = Field(description="When it fires next, with jitter; null: never.")
    last: FiringOut | None = Field(description="What became of its latest slot.")
    made_by: str
    made_in_run: str | None = Field(description="The run whose agent made it; null: a person did.")
    created_at: str
    updated_at: str


class ScheduleOut(ScheduleSummaryOut):
    """A schedule, with what comes next and what became of its latest slot."""

    task: str
    arguments: dict[str, JsonValue]
    deliver: list[dict[str, Any]] = Field(description="Where each result goes.")


class SchedulesOut(Schema):
    """The workspace's schedules by name."""

    schedules: list[ScheduleSummaryOut]
    next: Next


class ScheduledRunOut(Schema):
    """The run of a schedule that somebody asked for."""

    run: str


class BackfilledOut(Schema):
    """How many slots of the past are going to run."""

    slots: int
