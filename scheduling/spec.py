"""Settings of a schedule: names, types, defaults, bounds and meaning. No Django.

Each rule takes the value and returns it, or raises ``ValueError`` with the end of a sentence that
begins with the setting's name, as those of ``agents.definitions.validators`` do.

The columns of ``scheduling.models.Schedule``, ``[[schedules]]`` of ``heartbit.toml`` and the API's
requests are derived from ``ScheduleSpec``; ``actions.save_schedule`` validates every row with it,
whatever the source of its settings.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    AwareDatetime,
    Field,
    JsonValue,
    ValidationInfo,
    field_validator,
)

from agents.definitions import validators as agent_rules
from agents.definitions.setting_types import Reviewers
from heartbit_site.base.moments import TooFarError, to_utc
from heartbit_site.base.spec import Spec
from scheduling import recurrence
from scheduling.errors import ScheduleError
from scheduling.recurrence import SHORTEST_INTERVAL
from scheduling.slot_test import checked_test

_YEARS: Final = range(2000, 2200)
_UTC: Final = ZoneInfo("UTC")
#: `POST /schedules/preview` is a path of the REST API, so no schedule may have this name.
PREVIEW: Final = "preview"


class UnusableError(ValueError):
    """A value that is not valid for a setting.

    Attributes:
        sentence: Complete sentence, for contexts that do not name the setting.
    """

    def __init__(self, end: str, sentence: str) -> None:
        super().__init__(end)
        self.sentence = sentence


def checked_name(name: str) -> str:
    """Return a name that people choose freely."""
    if not name.strip():
        raise UnusableError("must not be empty", "A schedule needs a name that states its purpose.")
    if name.strip().isdecimal():  # schedules are also found by number
        raise UnusableError(
            "must not be only a number",
            "A schedule's name must not be only a number: state its purpose.",
        )
    if name.strip() == PREVIEW:
        raise UnusableError(
            "must not be 'preview'",
            "A schedule's name cannot be 'preview', which is a path of the REST API: choose "
            "another name.",
        )
    return name.strip()


def checked_cron(expression: str) -> str:
    """Return a cron expression that matches at some time."""
    try:
        return recurrence.cron_of(expression, _UTC).expression
    except ScheduleError as error:
        raise _unusable(error) from None


def checked_zone(name: str) -> str:
    """Return the name of a time zone known to this machine."""
    try:
        recurrence.time_zone(name)
    except ScheduleError as error:
        raise _unusable(error) from None
    return name


def checked_moment(value: datetime) -> datetime:
    """Return a time within the calendars of all zones, in whole seconds."""
    wrong = ValueError(f"must be between the years {_YEARS.start} and {_YEARS.stop - 1}")
    try:
        found = to_utc(value)
    except TooFarError:
        raise wrong from None
    if found.year not in _YEARS:
        raise wrong
    return found.replace(microsecond=0)


def _unusable(error: ScheduleError) -> UnusableError:
    sentence = str(error)
    return UnusableError(
        f"cannot be used: {sentence[:1].lower()}{sentence[1:].rstrip('.')}", sentence
    )


TASK_CHARACTERS = 20_000
LONGEST_JITTER = 3600  # seconds


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that only an installation can apply, because it knows its time zones.

    Files and saving apply it (``CheckedSpec``); clients check only types and bounds.
    """

    check: Callable[[Any], Any]


_STORABLE = AfterValidator(agent_rules.storable)
ScheduleName = Annotated[str, Field(min_length=1, max_length=100), _STORABLE, Rule(checked_name)]
AgentName = Annotated[str, Field(max_length=64), _STORABLE, Rule(agent_rules.agent_name)]
Time = Annotated[AwareDatetime | None, Rule(checked_moment)]
TestSetting = Annotated[dict[str, JsonValue], AfterValidator(checked_test)]
TaskType = Literal["task", "message", "tool_call", "workflow"]
CatchUp = Literal["none", "latest", "all"]
Overlap = Literal["skip", "queue", "parallel"]


class TaskSpec(Spec):
    """Settings of the work and its agent."""

    name: ScheduleName = Field(description="Name in lists, e.g. Monday sales report.")
    agent: AgentName = Field(description="Agent that runs.")
    task_type: TaskType = Field(
        "task",
        description="Messages go to one conversation, so the agent knows its earlier answers.",
    )
    task: Annotated[str, Field(max_length=TASK_CHARACTERS), _STORABLE] = Field(
        "", description="Task of the agent, the same for each run."
    )
    tool: Annotated[str, Field(max_length=64), _STORABLE] = Field(
        "", description="Name of the tool, for a tool call."
    )
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, description="Arguments of a tool call: a JSON object."
    )
    input: dict[str, JsonValue] = Field(
        default_factory=dict,
        description=(
            "Input of a workflow: a JSON object. Of a task, its long form {action, spec, inputs, "
            "constraints}, which follows its text."
        ),
    )


class RhythmSpec(Spec):
    """Settings of the recurrence: one of ``cron``, ``every_seconds`` and ``at``."""

    cron: Annotated[Annotated[str, Field(max_length=120), _STORABLE] | None, Rule(checked_cron)] = (
        Field(
            None, description="Minute hour day month weekday, e.g. 0 9 * * MON for Mondays at nine."
        )
    )
    every_seconds: Annotated[int, Field(ge=SHORTEST_INTERVAL, le=2_147_483_647)] | None = Field(
        None, description="Seconds between two firings, for an interval."
    )
    at: Time = Field(None, description="Time of the only firing, for a one-off.")
    time_zone: Annotated[str, Field(max_length=60), _STORABLE, Rule(checked_zone)] = Field(
        "UTC", description="IANA time zone of the cron expression, e.g. Europe/Berlin."
    )
    begins_at: Time = Field(
        None, description="Earliest firing; an interval counts from it. Empty: now."
    )
    ends_at: Time = Field(None, description="Latest firing. Empty: no end.")


class PolicySpec(Spec):
    """Settings of catch-up, overlap, approval and delivery."""

    catch_up: CatchUp = Field(
        "latest", description="Missed firings to run: none, the latest, or all."
    )
    overlap: Overlap = Field(
        "skip", description="Policy for a firing while the previous run is active."
    )
    jitter_seconds: Annotated[int, Field(ge=0, le=LONGEST_JITTER)] = Field(
        0,
        description="Random delay of each firing in seconds, so that not all start together.",
    )
    require_approval: bool = Field(
        default=False, description="Every tool call of its runs needs approval."
    )
    review: Reviewers = Field(
        "",
        description=(
            "People who see each result before it is delivered, unless the agent names its own: "
            "anyone (who may decide), group:NAME or person:USERNAME. Empty: no one."
        ),
    )
    cost_brake: Annotated[int, Field(ge=2, le=1000)] | None = Field(
        None,
        description=(
            "Pause it once a run costs more than this many times the median of the ten before. "
            "Empty: never."
        ),
    )
    test: TestSetting = Field(
        default_factory=dict,
        description=(
            "Decides each firing before a model is asked: {tool, arguments} or {workflow, input}, "
            "a condition `when` on `result` and `last`, and `on_error`: run or skip. Empty: none."
        ),
    )
    #: In the form of ``agents.delivery.targets``.
    deliver: list[Any] = Field(default_factory=list, description="Recipients of each result.")
    enabled: bool = Field(
        default=True, description="While paused, firings are skipped and not caught up later."
    )


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
