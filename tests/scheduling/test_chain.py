"""Agents that plan their own work reach the limit of what may lead to a run, as by messages."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.db import transaction
from django.utils import timezone

from agents.actions.runs import cancel_run
from agents.actions.send_message import start_agent
from agents.actions.start_conversation import start_conversation
from agents.choices import BusyPolicy
from agents.errors import MessageLimitReachedError, SubAgentError
from agents.models import Message, Run
from heartbit_site.base.audit import Actor
from scheduling.actions.fire_due import fire_due
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.agent_tools import schedule
from scheduling.models import Firing, Schedule
from tests.messaging.conftest import Writes, context_of, sender_of_run, unserved, writes
from tests.scheduling.conftest import let_pass
from tests.starts import post_message

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.messaging.addresses import Sender
    from heartbit_site.base.models import Workspace

__all__ = ["unserved", "writes"]

pytestmark = pytest.mark.django_db  # no worker sees these schedules, and fires them first

BEN = Actor("ben", "web")


def run_of(sender: Sender) -> Run:
    assert sender.run is not None
    return sender.run


def plan(run: Run, **when: object) -> Schedule:
    """What the tool makes of it."""
    asked: dict[str, Any] = when or {"in_seconds": 60}
    with transaction.atomic():  # as its result is journaled
        schedule(context_of(run), name=f"go on {run.pk}", task="Go on.", **asked)
    return Schedule.objects.filter(created_by_run_id=run.pk).latest("pk")


def fired(planned: Schedule) -> Run:
    """The run of its next slot."""
    planned.refresh_from_db()
    assert planned.next_occurrence is not None
    let_pass(planned, planned.next_occurrence - timezone.now() + timedelta(minutes=1))
    assert fire_due(only=planned.pk) == 1
    started = Firing.objects.filter(schedule=planned).order_by("scheduled_for").last()
    assert started is not None
    assert started.run_id is not None
    return Run.objects.get(pk=started.run_id)


def test_a_task_that_plans_itself_again_and_again_is_stopped(writes: Writes) -> None:
    run, planned = run_of(writes("writer")), []
    with pytest.raises(
        MessageLimitReachedError, match="9 messages and plans in a row led to this task"
    ):
        for _ in range(20):
            planned.append(plan(run))
            run = fired(planned[-1])
    assert [one.hops for one in planned] == list(range(1, 10))


def test_whoever_may_start_no_other_agent_any_more_gains_nothing_by_planning(
    writes: Writes,
) -> None:
    sender = writes("writer")
    with pytest.raises(MessageLimitReachedError):
        for turn in range(20):
            if turn == 4:
                sender = sender_of_run(fired(plan(run_of(sender))))
                continue
            other = "writer" if sender.address == "agent:analyst" else "analyst"
            sent = start_agent(sender, other, "Your turn.")
            assert sent.run_id is not None
            sender = sender_of_run(Run.objects.get(pk=sent.run_id))
    with pytest.raises(MessageLimitReachedError, match="plan nothing more"):
        plan(run_of(sender))
    assert turn == 9


def test_every_run_of_a_repeated_plan_may_do_the_same(unserved: Workspace, writes: Writes) -> None:
    planned = plan(run_of(writes("writer")), every_seconds=300)
    for _ in range(12):
        run = fired(planned)
        assert run.hops == planned.hops == 1
        assert start_agent(sender_of_run(run), "analyst", "Report.").hops == 1
        cancel_run(unserved, run.pk, reason="done")
    assert Run.objects.get(pk=run_schedule_now(planned, by=BEN)).hops == 1


def test_what_people_plan_begins_anew(planned: Callable[..., Schedule]) -> None:
    row = planned()
    assert (row.hops, fired(row).hops) == (0, 0)


def test_a_sub_agent_plans_nothing_and_who_was_asked_may(writes: Writes) -> None:
    above, child = run_of(writes("orchestrator")), run_of(writes("writer"))
    Run.objects.filter(pk=child.pk).update(parent=above, root=above)
    child.refresh_from_db()
    with pytest.raises(SubAgentError, match="A sub-agent cannot plan tasks"):
        plan(child)
    assert not Schedule.objects.filter(created_by_run_id=child.pk).exists()
    Message.objects.create(
        workspace=child.workspace,
        sender="agent:orchestrator",
        recipient="agent:writer",
        kind="request",
        thread="t",
        seq=1,
        body="When?",
        run_id=child.pk,
        hops=3,
    )
    assert plan(child).hops == 5, "as a message of this run would have 4"


def test_an_agents_plan_gives_the_run_under_way_no_new_turns(unserved: Workspace) -> None:
    thread = start_conversation(unserved, agent="writer", busy_policy=BusyPolicy.STEER)
    first = post_message(thread, "Begin.", model="openai:fake")
    planned = plan(Run.objects.get(pk=first.run_id))
    assert planned.conversation_id == thread.pk
    run = fired(planned)
    assert run.pk != first.run_id, "it waits for its turn"
    assert (run.conversation_id, run.hops) == (thread.pk, 1)
    assert post_message(thread, "Hurry.", by=BEN).outcome == "steered", "people are heard at once"
