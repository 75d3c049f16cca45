"""A schedule whose run costs a multiple of the runs before pauses, once, and says why."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db.models import F
from django.utils import timezone

from agents.actions.runs import cancel_run
from agents.models import Run
from heartbit_site.base.models import AuditEntry, UsageEntry
from scheduling.actions.fire_due import fire_due
from scheduling.actions.schedules import change_schedule
from scheduling.models import Firing, Schedule
from tests.scheduling.conftest import ANN, let_pass

Plan = Callable[..., Schedule]


def fire(plan: Schedule, tokens: int, cost: str | None) -> Firing:
    """Fire the next slot; if it has a run, the run uses these tokens and ends."""
    hour = timedelta(hours=1)
    let_pass(plan, hour)
    Firing.objects.filter(schedule=plan).update(scheduled_for=F("scheduled_for") - hour)
    Run.objects.filter(workspace=plan.workspace).update(idempotency_key=None)  # as in test_fire
    fire_due(only=plan.pk)
    firing = Firing.objects.filter(schedule=plan).latest("scheduled_for")
    if firing.run_id is not None:
        run = Run.objects.get(pk=firing.run_id)
        cancel_run(plan.workspace, run.pk, reason="", by=ANN)
        UsageEntry.objects.create(
            workspace=plan.workspace,
            run_id=run.pk,
            turn=1,
            model="openai:fake",
            input_tokens=tokens,
            output_tokens=0,
            cost_usd=None if cost is None else Decimal(cost),
            at=timezone.now(),
        )
    return firing


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("usual", "burnt", "said"),
    [("0.01", "0.05", "$0.0500, more than 3 times the usual $0.0100"), (None, None, "500 tokens")],
)
def test_a_run_that_burns_pauses_its_schedule_once(
    planned: Plan, usual: str | None, burnt: str | None, said: str
) -> None:
    plan = planned(cost_brake=3)
    for _ in range(3):
        fire(plan, 100, usual)
    fire(plan, 500, burnt)
    braked = fire(plan, 0, None)
    plan.refresh_from_db()
    assert (braked.run_id, braked.status, plan.enabled) == (None, "skipped", False)
    assert said in braked.note
    entry = AuditEntry.objects.get(workspace=plan.workspace, action="schedule.brake")
    assert entry.details["reason"] == braked.note
    change_schedule(plan, {"enabled": True}, by=ANN)
    plan.refresh_from_db()
    assert fire(plan, 100, usual).run_id is not None  # the same run pauses it no more
