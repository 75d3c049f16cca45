"""A schedule's row as settings."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest

from heartbit_site.base.audit import SYSTEM
from heartbit_site.base.models import Workspace
from scheduling.actions.save_schedule import save_schedule, table_of
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.spec import ScheduleSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent


def test_a_row_is_the_table_of_its_settings(planned: Callable[..., Schedule]) -> None:
    spec = ScheduleSpec.model_validate(table_of(planned(name="Hourly")))
    assert (spec.name, spec.agent, spec.every_seconds, spec.cron) == ("Hourly", "solo", 3600, None)


def test_an_agent_of_another_workspace_gets_no_schedule(
    planned: Callable[..., Schedule], agent: Callable[..., Agent]
) -> None:
    theirs = agent("theirs")
    theirs.workspace = Workspace.objects.create(slug=f"t-{secrets.token_hex(4)}", name="Elsewhere")
    theirs.save()
    with pytest.raises(ScheduleError, match="no such agent"):
        planned(agent=theirs)
    assert not Schedule.objects.filter(agent=theirs).exists()


def test_a_schedule_that_became_invalid_can_be_paused_and_nothing_else(
    planned: Callable[..., Schedule],
) -> None:
    plan = planned()
    Schedule.objects.filter(pk=plan.pk).update(task="")
    plan.refresh_from_db()
    plan.enabled = False
    save_schedule(plan, by=SYSTEM)
    plan.name = "Renamed"
    with pytest.raises(ScheduleError):
        save_schedule(plan, by=SYSTEM)
    plan.refresh_from_db()
    plan.enabled = True
    with pytest.raises(ScheduleError):
        save_schedule(plan, by=SYSTEM)
    plan.refresh_from_db()
    assert (plan.enabled, plan.name) == (False, "Report")
