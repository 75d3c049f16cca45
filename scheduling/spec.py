"""Settings of a schedule: names, types, defaults, bounds and meaning. No Django.

The columns of ``scheduling.models.Schedule``, ``[[schedules]]`` of ``heartbit.toml`` and the API's
requests are derived from ``ScheduleSpec``; ``actions.save_schedule`` validates every row with it,
whatever the source of its settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
)

from agents.definitions import validators as agent_rules
from agents.definitions.spec import Spec
from scheduling import rules
from scheduling.recurrence import SHORTEST_INTERVAL

if TYPE_CHECKING:
    from collections.abc import Callable

TASK_CHARACTERS = 20_000
LONGEST_JITTER = 3600  # seconds


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that only an installation can apply, because it knows its time zones.

    Files and saving apply it (``CheckedSpec``); clients check only types and bounds.
    """

    check: Callable[[Any], Any]


_STORABLE = AfterValidator(agent_rules.storable)
ScheduleName = Annotated[str, Field(min_length=1, max_length=100), _STORABLE, Rule(rules.titled)]
AgentName = Annotated[str, Field(max_length=64), _STORABLE, Rule(agent_rules.agent_name)]
Time = Annotated[AwareDatetime | None, Rule(rules.moment)]
TaskType = Literal["task", "message", "tool_call"]
CatchUp = Literal["none", "latest", "all"]
Overlap = Literal["skip", "queue", "parallel"]


class TaskSpec(Spec):
    """Settings of the work and its agent."""

    name: ScheduleName = Field(description="What it is for, e.g. Monday sales report.")
    agent: AgentName = Field(description="Who does it.")
    task_type: TaskType = Field(
        "task",
        description="A message goes to one conversation, so the agent knows what it said before.",
    )
    task: Annotated[str, Field(max_length=TASK_CHARACTERS), _STORABLE] = Field(
        "", description="What the agent is asked to do each time."
    )
    tool: Annotated[str, Field(max_length=64), _STORABLE] = Field(
        "", description="For a tool call: the tool's name."
    )
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, description="For a tool call: its arguments, a JSON object."
    )


class RhythmSpec(Spec):
    """Settings of the recurrence: one of ``cron``, ``every_seconds`` and ``at``."""

    cron: Annotated[Annotated[str, Field(max_length=120), _STORABLE] | None, Rule(rules.cron)] = (
        Field(
            None, description="Minute hour day month weekday, e.g. 0 9 * * MON for Mondays at nine."
        )
    )
    every_seconds: Annotated[int, Field(ge=SHORTEST_INTERVAL, le=2_147_483_647)] | None = Field(
        None, description="For an interval: seconds between two firings."
    )
    at: Time = Field(None, description="For a one-off: when.")
    time_zone: Annotated[str, Field(max_length=60), _STORABLE, Rule(rules.time_zone)] = Field(
        "UTC", description="Where nine o'clock is meant, e.g. Europe/Berlin."
    )
    begins_at: Time = Field(
        None, description="Nothing fires before it; an interval counts from it. Empty: now."
    )
    ends_at: Time = Field(None, description="Nothing fires after it. Empty: it never ends.")


class PolicySpec(Spec):
    """Settings of catch-up, overlap, approval and delivery."""

    catch_up: CatchUp = Field(
        "latest", description="Of slots that passed while nothing could fire: none, the last, all."
    )
    overlap: Overlap = Field(
        "skip", description="When it comes due while its last run is still at work."
    )
    jitter_seconds: Annotated[int, Field(ge=0, le=LONGEST_JITTER)] = Field(
        0,
        description="Each slot fires up to so many seconds late, so that not all begin at once.",
    )
    require_approval: bool = Field(
        default=False, description="Every tool call of its runs waits for a person."
    )
    #: In the form of ``agents.delivery.targets``.
    deliver: list[Any] = Field(default_factory=list, description="Where each result goes.")
    enabled: bool = Field(default=True, description="A paused one lets its slots pass.")


class ScheduleSpec(PolicySpec, RhythmSpec, TaskSpec):
    """All settings of a schedule, in the order of a file: the last base's come first."""


#: Settings that are columns of the same name, in the order in which they are written.
SETTINGS = tuple(name for name in ScheduleSpec.model_fields if name not in ("name", "agent"))
#: Settings of the time, of which a schedule has one, with the kind that each implies.
KINDS = {"cron": "cron", "every_seconds": "interval", "at": "once"}
_RULES = {
    name: part.check
    for name, field in ScheduleSpec.model_fields.items()
    for part in field.metadata
    if isinstance(part, Rule)
}


class CheckedSpec(ScheduleSpec):
    """Settings of a schedule that have passed the rules too."""

    @field_validator("*")
    @classmethod
    def _keep_to_rules(cls, value: Any, info: ValidationInfo) -> Any:
        name = info.field_name or ""
        if name not in _RULES or value == cls.default_of(name):
            return value
        return _RULES[name](value)
