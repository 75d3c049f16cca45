"""Schedules of agents, and the outcomes of their occurrences."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, AliasPath, Field, JsonValue, model_validator

from heartbit_site.base.view import Id, Time, View
from heartbit_site.contract.model import Body, Moment, Page, Targets, changes
from heartbit_site.contract.operation import (
    READ_AGENTS,
    WRITE_AGENTS,
    WRITE_RUNS,
    WRITE_SCHEDULES,
    Noun,
)
from heartbit_site.contract.runs import Status
from heartbit_site.contract.webhooks import Status as DeliveryStatus
from scheduling.spec import (
    KINDS,
    CatchUp,
    Overlap,
    RhythmSpec,
    ScheduleSpec,
    TaskType,
    checked_moment,
)

Kind = Literal["cron", "interval", "once"]
FiringState = Literal["started", "deferred", "skipped", "failed"]

At = Annotated[Moment, AfterValidator(checked_moment)]


class OccurrenceOut(View):
    """An occurrence of a schedule, without jitter."""

    at: Time
    text: str = Field(description="In its time zone: Mon 23 Nov 2026, 09:00 (Europe/Berlin).")


class RecurrenceOut(View):
    """Occurrences of a recurrence."""

    description: str = Field(
        description="Description for people: At 09:00 on Monday (Europe/Berlin)."
    )
    upcoming: list[OccurrenceOut] = Field(
        description="The next five occurrences; fewer at the end."
    )


class FiringOut(View):
    """Outcome of an occurrence."""

    scheduled_for: Time = Field(
        description="Time at which it was due; of a manual one, of the request.",
    )
    trigger: Literal["schedule", "manual", "backfill", "test"] = Field(
        validation_alias="cause",
        description="test: it delivered only to the person who asked for it.",
    )
    status: FiringState = Field(
        description=(
            "started: it has a run, see run_status; deferred: it starts after the previous run, "
            "after its test, or when an obstacle is gone: see note."
        )
    )
    note: str = Field(
        validation_alias="reason",
        description="Reason why it was skipped or deferred, or why it or its run failed.",
    )
    run_id: Id | None
    test_run_id: Id | None = Field(
        description="Run of the schedule's test, which decided it; null: none was needed."
    )
    run_status: Status | None = Field(
        description="Status of the run; null without a run, or if it is archived."
    )
    delivery_status: DeliveryStatus | None = Field(
        description="Status of the deliveries; failed if at least one failed; null if nothing is "
        "delivered."
    )
    created_at: Time


class FiringsOut(Page):
    """Firings of a schedule, the latest first."""

    firings: list[FiringOut]


class ScheduleSummaryOut(RecurrenceOut):
    """A schedule in a list; `GET /schedules/{schedule}` returns its whole task."""

    id: int = Field(
        validation_alias="pk",
        description="Number of the schedule, which paths accept as well as its name.",
    )
    name: str
    agent: str = Field(validation_alias=AliasPath("agent", "name"))
    agent_enabled: bool = Field(
        validation_alias=AliasPath("agent", "enabled"),
        description="False while the agent is stopped: occurrences wait.",
    )
    task_type: TaskType
    task: str = Field(description="The task; a longer one is cut to 500 characters, ending with ….")
    task_characters: int = Field(description="Length of the whole task.")
    tool: str
    kind: Kind
    cron: str | None
    every_seconds: int | None
    at: Time | None
    time_zone: str
    begins_at: Time
    ends_at: Time | None
    catch_up: CatchUp
    overlap: Overlap
    jitter_seconds: int
    require_approval: bool
    review: str = Field(description="Reviewers of each result; empty: as the agent says.")
    cost_brake: int | None = Field(
        description="Multiple of the usual cost of a run that pauses it; null: none."
    )
    enabled: bool
    conversation_id: Id | None = Field(
        description="Conversation of its messages; null until the first message.",
    )
    next_at: Time | None = Field(description="Time of the next firing, with jitter; null: never.")
    last: FiringOut | None = Field(description="Outcome of the latest occurrence.")
    created_by: str
    created_by_run_id: Id | None = Field(
        description="Run whose agent created it; null for a person.",
    )
    created_at: Time
    updated_at: Time


class ScheduleOut(ScheduleSummaryOut):
    """A schedule with its next occurrences and its latest outcome."""

    task: str
    arguments: dict[str, JsonValue]
    input: dict[str, JsonValue]
    test: dict[str, JsonValue] = Field(
        description="Test that decides each firing before a model is asked; empty: none."
    )
    deliver: list[dict[str, JsonValue]] = Field(description="Recipients of each result.")
    recipients: list[str] = Field(description="The recipients as text, webhooks by name.")
    asks: list[str] = Field(
        description="Sentences about the calls and questions for which its runs wait for a person."
    )


class SchedulesOut(Page):
    """The workspace's schedules by name."""

    schedules: list[ScheduleSummaryOut]


class ScheduledRunOut(View):
    """Run of a schedule, started by request."""

    run_id: Id


class BackfilledOut(View):
    """Number of past occurrences that will run."""

    firings_created: int


class RecurrenceIn(RhythmSpec):
    """The recurrence: one of `cron`, `every_seconds` and `at`."""

    needs_time: ClassVar[bool] = True
    at: At | None = Field(None, description="Once, then.")
    begins_at: At | None = Field(
        None, description="Start of the recurrence; an interval counts from it. Null: now."
    )
    ends_at: At | None = Field(None, description="End of the recurrence. Null: never.")

    @model_validator(mode="after")
    def _says_when(self) -> Self:
        given = sum(getattr(self, name) is not None for name in KINDS)
        if not self.needs_time <= given <= 1:
            raise ValueError("give one of cron, every_seconds and at")
        return self


class ScheduleIn(RecurrenceIn, ScheduleSpec):
    """An agent's task and its recurrence."""

    deliver: Targets = Field(default_factory=list)


@changes(null=False)
class ScheduleChangeIn(ScheduleIn):
    """Settings to change; omitted settings are unchanged. `deliver` replaces the whole list."""

    needs_time: ClassVar[bool] = False


class BackfillIn(Body):
    """A span of the past."""

    begin: At = Field(alias="from", description="First moment of the span.")
    end: At = Field(alias="to", description="Last moment of the span.")


NOUN = Noun("schedules", read=READ_AGENTS, write=WRITE_SCHEDULES)

LIST_SCHEDULES = NOUN.get("list_schedules", "/schedules", SchedulesOut)
CREATE_SCHEDULE = NOUN.post(
    "create_schedule", "/schedules", ScheduleOut, body=ScheduleIn, status=201, errors=(409,)
)
PREVIEW_SCHEDULE = NOUN.post(
    "preview_schedule", "/schedules/preview", RecurrenceOut, needs=READ_AGENTS, body=RecurrenceIn
)
SHOW_SCHEDULE = NOUN.get("show_schedule", "/schedules/{schedule}", ScheduleOut)
CHANGE_SCHEDULE = NOUN.patch(
    "change_schedule", "/schedules/{schedule}", ScheduleOut, body=ScheduleChangeIn, errors=(409,)
)
REMOVE_SCHEDULE = NOUN.delete("remove_schedule", "/schedules/{schedule}", needs=WRITE_AGENTS)
RUN_SCHEDULE = NOUN.post(
    "run_schedule", "/schedules/{schedule}/run", ScheduledRunOut, "Run a schedule now",
    needs=WRITE_RUNS, status=201, other_statuses=(200,), errors=(409,),
)  # fmt: skip
BACKFILL_SCHEDULE = NOUN.post(
    "backfill_schedule", "/schedules/{schedule}/backfill", BackfilledOut, needs=WRITE_RUNS,
    body=BackfillIn, errors=(409,),
)  # fmt: skip
LIST_FIRINGS = NOUN.get("list_firings", "/schedules/{schedule}/firings", FiringsOut)
