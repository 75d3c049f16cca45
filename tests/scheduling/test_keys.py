"""Nobody can take a slot's idempotency key before the slot does."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, timedelta

import pytest

from agents.actions.start_conversation import start_conversation
from agents.models import Delivery, Run
from agents.runs.idempotency_keys import InternalKey, ReservedKeyError
from scheduling.actions.fire_due import fire_due
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.models import Firing, Schedule
from tests.scheduling.conftest import ANN, let_pass
from tests.starts import fork_run, post_message, start_run

Plan = Callable[..., Schedule]
pytestmark = pytest.mark.django_db
BOSS = [{"kind": "email", "to": ["boss@example.org"]}]
SENTENCE = "begins with 'schedule:', which Heartbit keeps for keys of its own"


def key_of_slot(schedule: Schedule) -> str:
    """What anybody can guess who knows the schedule's number and rhythm."""
    schedule.refresh_from_db()
    assert schedule.next_occurrence is not None
    return f"schedule:{schedule.pk}:{schedule.next_occurrence.astimezone(UTC).isoformat()}"


def test_nobody_starts_a_run_in_a_slots_place(planned: Plan) -> None:
    plan = planned(deliver=BOSS)
    let_pass(plan, timedelta(hours=1))
    key = key_of_slot(plan)
    source = Run.objects.get(pk=start_run(plan.workspace, "x", agent="solo"))
    thread = start_conversation(plan.workspace, agent="solo")
    ways: tuple[Callable[[], object], ...] = (
        lambda: start_run(plan.workspace, "Mine.", agent="solo", idempotency_key=key),
        lambda: post_message(thread, "Mine.", idempotency_key=key),
        lambda: fork_run(source, 0, idempotency_key=key),
    )
    for way in ways:
        with pytest.raises(ReservedKeyError, match=SENTENCE):
            way()
    with pytest.raises(ReservedKeyError, match=SENTENCE):
        run_schedule_now(plan, by=ANN, key=key)
    assert not Run.objects.filter(idempotency_key=key).exists()
    fire_due(only=plan.pk)
    run = Run.objects.get(idempotency_key=key)
    assert run.started_by == f"schedule {plan.name}"
    assert Firing.objects.get(schedule=plan).run_id == run.pk
    assert Delivery.objects.filter(run_id=run.pk).count() == 1


def test_a_slot_that_a_release_before_started_is_not_started_again(planned: Plan) -> None:
    plan = planned()
    let_pass(plan, timedelta(hours=1))
    earlier = start_run(
        plan.workspace, "Report.", agent="solo", idempotency_key=InternalKey(key_of_slot(plan))
    )
    fire_due(only=plan.pk)
    assert Firing.objects.get(schedule=plan).run_id == earlier
