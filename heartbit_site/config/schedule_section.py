"""`[[schedules]]` of ``heartbit.toml``: the settings of a schedule, in a file's form."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from agents.definitions.spec import Arguments
from agents.delivery.targets import (
    MOST_TARGETS,
    ArtifactTarget,
    EmailTarget,
    Target,
    WebhookTarget,
)
from scheduling.spec import CheckedSpec

#: The keys of each kind of target of `deliver`.
TARGETS: Final[dict[str, tuple[str, ...]]] = {
    "email": tuple(EmailTarget.model_fields),
    "webhook": tuple(WebhookTarget.model_fields),
    "artifact": tuple(ArtifactTarget.model_fields),
}


#: A table, or JSON in a string: TOML cannot say null.
Table = Arguments
Targets = Annotated[list[Target], Field(max_length=MOST_TARGETS)]


class ScheduleSection(CheckedSpec):
    """One of `[[schedules]]`."""

    arguments: Table = Field(default_factory=dict)
    deliver: Targets = Field(default_factory=list)
