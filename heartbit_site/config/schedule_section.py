"""One of `[[schedules]]` of ``heartbit.toml``: its keys, with types, limits and defaults.

The keys are fields of ``scheduling.models.Schedule``, with the same limits and defaults; a test
compares them. Django has to be set up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AfterValidator, AwareDatetime, Field

from agents.definitions import rules
from agents.definitions.spec import Arguments, Name, Spec
from agents.delivery.targets import (
    MOST_TARGETS,
    ArtifactTarget,
    EmailTarget,
    Target,
    WebhookTarget,
)
from heartbit_site.config import schedule_rules
from scheduling.choices import Kind
from scheduling.rules import LONGEST_JITTER, SHORTEST_INTERVAL, TASK_CHARACTERS, moment

if TYPE_CHECKING:
    from collections.abc import Mapping

ScheduleName = Annotated[str, Field(max_length=100), AfterValidator(schedule_rules.titled)]
Cron = Annotated[str, Field(max_length=120), AfterValidator(schedule_rules.cron)]
TimeZone = Annotated[str, Field(max_length=60), AfterValidator(schedule_rules.time_zone)]
Time = Annotated[AwareDatetime, AfterValidator(moment)]
Tool = Annotated[str, Field(max_length=64), AfterValidator(rules.installed_tool)]

#: The keys that say when, of which a schedule has one, and what it follows then.
KINDS: Final = {"cron": Kind.CRON, "every_seconds": Kind.INTERVAL, "at": Kind.ONCE}
#: The keys of each kind of target of `deliver`.
TARGETS: Final[dict[str, tuple[str, ...]]] = {
    "email": tuple(EmailTarget.model_fields),
    "webhook": tuple(WebhookTarget.model_fields),
    "artifact": tuple(ArtifactTarget.model_fields),
}


class ScheduleSection(Spec):
    """One of `[[schedules]]`."""

    name: ScheduleName
    agent: Name
    task_type: Literal["system_prompt", "message", "tool_call"] = "system_prompt"
    task: Annotated[str, Field(max_length=TASK_CHARACTERS), AfterValidator(rules.storable)] = ""
    tool: Tool | None = None
    arguments: Arguments = Field(default_factory=dict)
    cron: Cron | None = None
    every_seconds: Annotated[int, Field(ge=SHORTEST_INTERVAL, le=2_147_483_647)] | None = None
    at: Time | None = None
    time_zone: TimeZone = "UTC"
    begins_at: Time | None = None
    ends_at: Time | None = None
    missed: Literal["skip", "one", "all"] = "one"
    overlap: Literal["skip", "queue", "parallel"] = "skip"
    jitter_seconds: Annotated[int, Field(ge=0, le=LONGEST_JITTER)] = 0
    approve: bool = False
    deliver: Annotated[list[Target], Field(max_length=MOST_TARGETS)] = Field(default_factory=list)
    enabled: bool = True


#: The columns of a row that a table sets by their own names, in the order they are written in.
COLUMNS: Final = tuple(
    name for name in ScheduleSection.model_fields if name not in ("name", "agent")
)
#: What a table is that says nothing.
DEFAULTS: Final[Mapping[str, Any]] = {
    name: ScheduleSection.model_fields[name].get_default(call_default_factory=True)
    for name in COLUMNS
}
