"""A schedule's message is a run of its own, whatever its conversation does with second messages."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from agents.actions.admit import create_deliveries
from agents.actions.start_conversation import start_conversation
from agents.choices import BusyPolicy
from agents.delivery.targets import read_targets
from agents.models import Delivery, Run
from scheduling.actions.fire_due import fire_due
from scheduling.choices import FiringStatus, TaskType
from scheduling.models import Firing, Schedule
from tests.scheduling.conftest import let_pass
from tests.starts import post_message

Plan = Callable[..., Schedule]
pytestmark = pytest.mark.django_db


def to(address: str) -> list[dict[str, object]]:
    return [{"kind": "email", "to": [address]}]


@pytest.mark.parametrize("policy", list(BusyPolicy))
def test_its_message_is_a_run_of_its_own_and_delivered(planned: Plan, policy: BusyPolicy) -> None:
    plan = planned(task_type=TaskType.MESSAGE, deliver=to("boss@example.org"))
    thread = start_conversation(plan.workspace, agent="solo", busy_policy=policy)
    Schedule.objects.filter(pk=plan.pk).update(conversation_id=thread.pk)
    live = post_message(thread, "Something private.").run_id
    create_deliveries(live, plan.workspace, read_targets(to("ann@example.org")))
    let_pass(plan, timedelta(hours=1))
    fire_due(only=plan.pk)
    firing = Firing.objects.get(schedule=plan)
    assert (firing.status, firing.note) == (FiringStatus.STARTED, "")
    assert firing.run_id not in {None, live}
    orders = Delivery.objects.filter(workspace=plan.workspace)
    sent = {row.run_id: row.target["to"] for row in orders}
    assert sent == {live: ["ann@example.org"], firing.run_id: ["boss@example.org"]}
    assert not Run.objects.get(pk=live).cancel_requested
