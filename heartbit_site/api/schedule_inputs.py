"""What requests about schedules hold."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  pydantic evaluates the annotations
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator

from heartbit_site.api.inputs import Body
from heartbit_site.config import schedule_rules
from heartbit_site.config.schedule_section import KINDS
from heartbit_site.contract.model import Moment, Name, Targets, Text, Word, without_defaults
from scheduling.actions.save_schedule import TASK_CHARACTERS
from scheduling.models.schedule import LONGEST_JITTER
from scheduling.rhythm import SHORTEST_INTERVAL

Time = Annotated[Moment, AfterValidator(schedule_rules.moment)]
Seconds = Annotated[int, Field(ge=SHORTEST_INTERVAL, le=2**31 - 1)]
ScheduleName = Annotated[Word, Field(min_length=1, max_length=100)]
Task = Annotated[Text, Field(max_length=TASK_CHARACTERS)]

_ONE = "give one of cron, every_seconds and at"


class RhythmIn(Body):
    """When something comes due: one of `cron`, `every_seconds` and `at`."""

    cron: Annotated[Word, Field(max_length=120)] | None = Field(
        None, description="Minute, hour, day, month, weekday: 0 9 * * MON is Mondays at nine."
    )
    every_seconds: Seconds | None = Field(None, description="Again and again, counted in seconds.")
    at: Time | None = Field(None, description="Once, then.")
    time_zone: Annotated[Word, Field(max_length=60)] = Field(
        "UTC", description="Where nine o'clock is meant, such as Europe/Berlin."
    )
    begins_at: Time | None = Field(
        None, description="Nothing comes due before; an interval counts from it. Null: now."
    )
    ends_at: Time | None = Field(None, description="Nothing comes due after. Null: it never ends.")

    def given(self) -> int:
        """How many of the three say when."""
        return sum(getattr(self, name) is not None for name in KINDS)

    @model_validator(mode="after")
    def _says_when(self) -> RhythmIn:
        if self.given() != 1:
            raise ValueError(_ONE)
        return self


class ScheduleIn(RhythmIn):
    """What an agent is to do, and when."""

    name: ScheduleName = Field(description="What it is for, such as Monday sales report.")
    agent: Name = Field(description="Who does it.")
    task_type: Literal["system_prompt", "message", "tool_call"] = Field(
        "system_prompt",
        description="message: all go to one conversation, so the agent knows what it said before.",
    )
    task: Task = Field("", description="What the agent is asked to do each time.")
    tool: Name = Field("", description="With tool_call: which of the agent's tools.")
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, description="With tool_call: what the tool is called with."
    )
    missed: Literal["skip", "one", "all"] = Field(
        "one", description="Of slots that passed while nothing could fire: none, the last, all."
    )
    overlap: Literal["skip", "queue", "parallel"] = Field(
        "skip", description="When it comes due while its last run is still at work."
    )
    jitter_seconds: Annotated[int, Field(ge=0, le=LONGEST_JITTER)] = Field(
        0, description="Each slot fires up to so many seconds late."
    )
    approve: bool = Field(default=False, description="Every tool call waits for a person.")
    deliver: Targets = Field(default_factory=list)
    enabled: bool = Field(default=True, description="A paused one lets its slots pass.")


class ScheduleChangeIn(ScheduleIn):
    """What is to be different; what is left out stays. `deliver` is given whole."""

    model_config = ConfigDict(json_schema_extra=without_defaults)

    name: ScheduleName = Field("-", description="What it is for.")
    agent: Name = Field("-", description="Who does it.")

    @model_validator(mode="after")
    def _says_when(self) -> ScheduleChangeIn:
        if self.given() > 1:
            raise ValueError(_ONE)
        return self

    def changes(self) -> dict[str, Any]:
        """What was said, by its names."""
        return self.model_dump(exclude_unset=True)


class SpanIn(Body):
    """A span of the past."""

    begin: Time = Field(alias="from", description="Its first moment.")
    end: Time = Field(alias="to", description="Its last.")

    def both(self) -> tuple[datetime, datetime]:
        """Its ends."""
        return self.begin, self.end
