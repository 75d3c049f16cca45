"""A schedule's row as settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scheduling.actions.save_schedule import table_of
from scheduling.spec import ScheduleSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from scheduling.models import Schedule


def test_a_row_is_the_table_of_its_settings(planned: Callable[..., Schedule]) -> None:
    spec = ScheduleSpec.model_validate(table_of(planned(name="Hourly")))
    assert (spec.name, spec.agent, spec.every_seconds, spec.cron) == ("Hourly", "solo", 3600, None)
