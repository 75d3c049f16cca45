"""`[[schedules]]` of ``heartbit.toml``: the settings of a schedule, in a file's form."""

from __future__ import annotations

from pydantic import Field

from agents.definitions.spec import Arguments
from agents.delivery.targets import MOST_TARGETS, Target
from scheduling.spec import CheckedSpec

#: A table, or JSON in a string: TOML cannot say null.
Table = Arguments


class ScheduleSection(CheckedSpec):
    """One of `[[schedules]]`."""

    arguments: Table = Field(default_factory=dict)
    deliver: list[Target] = Field(default_factory=list, max_length=MOST_TARGETS)
