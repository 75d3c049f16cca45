"""Slots become runs: each once, and as the schedule's policies say."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.db import connection

from agents.actions.fleet import pause_work, resume_work, set_agent_state
from agents.actions.runs import cancel_run
from agents.limits import pauses
from agents.models import Delivery, Run
from heartbit_site.base.models import AuditEntry
from scheduling.actions.fire_due import MOST, FailureBackoff, _fired, fire_due
from scheduling.actions.run_schedule import backfill_schedule, run_schedule_now
from scheduling.actions.save_schedule import save_schedule
from scheduling.actions.schedules import prune_firings, remove_schedule
from scheduling.choices import CatchUp, FiringStatus, Kind, Overlap, TaskType, Trigger
from scheduling.errors import ScheduleConflictError, ScheduleError
from scheduling.firings import has_running_run, start_firing
from scheduling.models import Firing, Schedule
from scheduling.querysets import database_now, due_schedules
from tests.scheduling.conftest import ANN, let_pass

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace

Plan = Callable[..., Schedule]
HOUR = timedelta(hours=1)
transacted = pytest.mark.django_db


def firings(schedule: Schedule) -> list[Firing]:
    return list(Firing.objects.filter(schedule=schedule).order_by("scheduled_for"))


def statuses(schedule: Schedule) -> list[str]:
    return [str(firing.status) for firing in firings(schedule)]


def runs(schedule: Schedule) -> list[Run]:
    ids = [firing.run_id for firing in firings(schedule) if firing.run_id]
    return list(Run.objects.filter(pk__in=ids).order_by("created_at"))


def an_hour_later(schedule: Schedule) -> None:
    """Let an hour pass, for its log as well, and look."""
    let_pass(schedule, HOUR)
    for firing in firings(schedule):
        firing.scheduled_for -= HOUR
        firing.save()
    # A slot's time is part of its run's key, and comes again here.
    Run.objects.filter(workspace=schedule.workspace).update(idempotency_key=None)
    fire_due(only=schedule.pk)


def test_many_clocks_at_once_fire_each_slot_once(planned: Plan) -> None:
    plans = [
        planned(name=f"Report {number}", overlap=Overlap.PARALLEL, catch_up=CatchUp.ALL)
        for number in range(5)
    ]
    for plan in plans:
        let_pass(plan, 4 * HOUR)
    barrier = threading.Barrier(8)

    def look() -> None:
        barrier.wait()
        for _ in range(3):
            fire_due()
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for plan in plans:
        found = firings(plan)
        assert [firing.status for firing in found] == [FiringStatus.STARTED] * 4
        assert (
            len({firing.scheduled_for for firing in found}) == len({f.run_id for f in found}) == 4
        )
        assert (
            Run.objects.filter(workspace=plan.workspace, task__startswith="Report.").count() == 20
        )


@transacted
def test_a_slot_becomes_a_run_of_its_agent(planned: Plan) -> None:
    plan = planned(time_zone="Europe/Berlin", require_approval=True)
    assert fire_due(only=plan.pk) == 0, "an early ring is none"
    slot = plan.next_occurrence
    let_pass(plan, HOUR)
    assert fire_due(only=plan.pk) == 1
    assert fire_due(only=plan.pk) == 0, "a second ring is none"
    [run] = runs(plan)
    assert (run.agent, run.approve, run.started_by) == ("solo", True, "schedule Report")
    assert run.task.startswith("Report.\n\n(Scheduled for ")
    assert "(Europe/Berlin)" in run.task
    plan.refresh_from_db()
    assert plan.next_occurrence == slot, "and it goes on"


@transacted
def test_its_results_are_ordered_with_it(planned: Plan) -> None:
    plan = planned(deliver=[{"kind": "email", "to": ["ann@example.org"]}])
    let_pass(plan, HOUR)
    fire_due(only=plan.pk)
    [run] = runs(plan)
    [delivery] = Delivery.objects.filter(run_id=run.pk)
    assert delivery.target["to"] == ["ann@example.org"]


@transacted
def test_what_stands_in_the_way_is_noted(planned: Plan) -> None:
    plan = planned()
    plan.agent.current_version = None
    plan.agent.save()
    let_pass(plan, HOUR)
    fire_due(only=plan.pk)
    [firing] = firings(plan)
    assert firing.status == FiringStatus.FAILED
    assert "no agent named 'solo'" in firing.note
    plan.refresh_from_db()
    assert plan.next_occurrence is not None
    assert plan.next_occurrence > database_now(), "the next slot is tried again"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Overlap.SKIP, ["started", "skipped"]),
        (Overlap.QUEUE, ["started", "deferred"]),
        (Overlap.PARALLEL, ["started", "started"]),
    ],
)
@transacted
def test_while_the_run_before_is_at_work(
    planned: Plan, policy: Overlap, expected: list[str]
) -> None:
    plan = planned(overlap=policy)
    for _ in range(2):
        an_hour_later(plan)
    assert statuses(plan) == expected
    cancel_run(plan.workspace, runs(plan)[0].pk, reason="over")
    fire_due(only=plan.pk)
    expected = ["started" if one == "deferred" else one for one in expected]
    assert statuses(plan) == expected, "what was held begins when the one before has ended"


@transacted
def test_a_stopped_workspace_and_agent_fire_nothing_until_they_go_on(planned: Plan) -> None:
    plan = planned(catch_up=CatchUp.LATEST)
    held = pauses.of_workspace(plan.workspace)
    pause_work(held, by=ANN)
    let_pass(plan, 3 * HOUR)
    assert fire_due(only=plan.pk) == 0
    resume_work(held, by=ANN)
    set_agent_state(plan.agent, "stop")
    assert fire_due(only=plan.pk) == 0
    set_agent_state(plan.agent, "start")
    assert fire_due(only=plan.pk) == 3
    assert statuses(plan) == ["skipped", "skipped", "started"]


@transacted
def test_a_schedule_that_cannot_be_read_is_paused(
    planned: Plan, caplog: pytest.LogCaptureFixture
) -> None:
    plan = planned()
    let_pass(plan, HOUR)
    Schedule.objects.filter(pk=plan.pk).update(time_zone="Mars/Olympus")
    assert fire_due(only=plan.pk) == 0
    plan.refresh_from_db()
    assert (plan.enabled, plan.next_occurrence, plan.next_at) == (False, None, None)
    assert plan.pk not in due_schedules(100)
    assert f"the schedule {plan} cannot be read, and is paused: " in caplog.text


@transacted
def test_a_skipped_slot_that_is_made_up_for_is_a_backfill_s(planned: Plan) -> None:
    plan = planned(overlap=Overlap.SKIP)
    for _ in range(2):
        an_hour_later(plan)
    assert statuses(plan) == ["started", "skipped"]
    [_, skipped] = firings(plan)
    assert backfill_schedule(plan, skipped.scheduled_for, skipped.scheduled_for, by=ANN) == 1
    skipped.refresh_from_db()
    assert (skipped.status, skipped.cause) == (FiringStatus.DEFERRED, Trigger.BACKFILL)


@transacted
def test_messages_stay_on_one_conversation(planned: Plan) -> None:
    plan = planned(task_type=TaskType.MESSAGE, overlap=Overlap.PARALLEL)
    for _ in range(2):
        an_hour_later(plan)
    found = runs(plan)
    assert len(found) == 2
    assert found[0].conversation == found[1].conversation
    assert found[0].conversation is not None
    assert found[0].conversation.title == "Report"


@transacted
def test_a_conversation_that_was_archived_is_begun_anew(planned: Plan) -> None:
    plan = planned(task_type=TaskType.MESSAGE)
    Schedule.objects.filter(pk=plan.pk).update(conversation_id=uuid4())
    an_hour_later(plan)
    [found] = runs(plan)
    plan.refresh_from_db()
    assert found.conversation_id == plan.conversation_id


@transacted
def test_once_fires_once_and_is_over(planned: Plan) -> None:
    plan = planned(kind=Kind.ONCE, at=database_now() + HOUR)
    let_pass(plan, HOUR)
    assert fire_due(only=plan.pk) == 1
    plan.refresh_from_db()
    assert (plan.next_occurrence, plan.next_at, plan.periodic_task) == (None, None, None)


@transacted
def test_run_now_is_beside_its_slots(planned: Plan) -> None:
    plan = planned(enabled=False)
    run_id = run_schedule_now(plan, by=ANN)
    [firing] = firings(plan)
    assert (firing.run_id, firing.cause) == (run_id, Trigger.MANUAL)
    plan.refresh_from_db()
    assert plan.next_occurrence is None
    set_agent_state(plan.agent, "stop")
    with pytest.raises(ScheduleConflictError, match="The agent solo is stopped"):
        run_schedule_now(plan, by=ANN)
    assert len(firings(plan)) == 1


@transacted
def test_a_backfill_holds_what_has_no_run(planned: Plan) -> None:
    now, hourly = database_now(), {"kind": Kind.CRON, "cron": "0 * * * *"}
    other = planned(name="Another", **hourly)
    assert backfill_schedule(other, now - 3 * HOUR, now, by=ANN) == 3
    plan = planned(overlap=Overlap.SKIP, **hourly)
    assert backfill_schedule(plan, now - 3 * HOUR, now, by=ANN) == 3, "of its own"
    with pytest.raises(ScheduleConflictError, match="nothing to backfill"):
        backfill_schedule(plan, now - 3 * HOUR, now, by=ANN)
    assert fire_due(only=plan.pk) == 1, "one after the other, also where slots skip"
    assert statuses(plan) == ["started", "deferred", "deferred"]
    for _ in range(2):
        cancel_run(plan.workspace, runs(plan)[-1].pk, reason="over")
        fire_due(only=plan.pk)
    assert statuses(plan) == ["started"] * 3
    with pytest.raises(ScheduleError, match="span is not in the past"):
        backfill_schedule(plan, now, now + HOUR, by=ANN)
    with pytest.raises(ScheduleConflictError, match="more than 200 firings"):
        backfill_schedule(plan, now - 300 * HOUR, now, by=ANN)


@transacted
def test_a_paused_schedule_starts_nothing_that_it_held(planned: Plan) -> None:
    plan = planned(overlap=Overlap.QUEUE)
    for _ in range(2):
        an_hour_later(plan)
    assert statuses(plan) == ["started", "deferred"]
    plan.refresh_from_db()
    plan.enabled = False
    save_schedule(plan, by=ANN)
    now = database_now()
    assert backfill_schedule(plan, now - 5 * HOUR, now - 3 * HOUR, by=ANN) == 2
    cancel_run(plan.workspace, runs(plan)[0].pk, reason="over")
    assert plan.pk not in due_schedules(100)
    assert _fired(plan.pk) == 0, "also when it was paused after it had been found"
    assert sorted(statuses(plan)) == ["deferred", "deferred", "deferred", "started"]
    plan.refresh_from_db()
    plan.enabled = True
    save_schedule(plan, by=ANN)
    for _ in range(3):
        assert fire_due(only=plan.pk) == 1
        for run in runs(plan):
            if run.finished_at is None:
                cancel_run(plan.workspace, run.pk, reason="over")
    assert statuses(plan) == ["started"] * 4


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": "  "}, "needs a name"),
        ({"task": " "}, "is empty"),
        ({"kind": Kind.CRON, "cron": "9 o'clock"}, "has 2 fields"),
        ({"kind": Kind.ONCE, "at": "past"}, "time is in the past"),
        ({"ends_at": "past"}, "ends before it begins"),
        ({"deliver": [{"kind": "pigeon"}]}, "one of email, webhook, artifact, drive"),
        ({"task_type": TaskType.TOOL_CALL, "tool": "calculate"}, "has no tool 'calculate'"),
        ({"task_type": "dance"}, "choose from"),
    ],
)
@transacted
def test_what_cannot_be_is_refused_in_a_sentence(
    workspace: Workspace, planned: Plan, fields: dict[str, object], sentence: str
) -> None:
    past = database_now() - HOUR
    given = {name: past if value == "past" else value for name, value in fields.items()}
    with pytest.raises(Exception, match=sentence):
        planned(**given)
    assert not Schedule.objects.filter(workspace=workspace).exists()


@transacted
def test_names_are_taken_once(planned: Plan) -> None:
    planned()
    with pytest.raises(ScheduleConflictError, match="named 'Report'"):
        planned()


@transacted
def test_changes_are_in_the_audit_and_count_from_now(planned: Plan, workspace: Workspace) -> None:
    plan = planned()
    plan.enabled = False
    save_schedule(plan, by=ANN)
    plan.enabled = True
    let_pass_before = database_now()
    save_schedule(plan, by=ANN)
    assert plan.next_occurrence is not None
    assert plan.next_occurrence > let_pass_before, "what passed meanwhile is no slot"
    save_schedule(plan, by=ANN)
    remove_schedule(plan, by=ANN)
    entries = AuditEntry.objects.filter(workspace=workspace, action__startswith="schedule.")
    assert list(entries.order_by("pk").values_list("action", flat=True)) == [
        "schedule.create",
        "schedule.change",
        "schedule.change",
        "schedule.remove",
    ]


@transacted
def test_old_slots_are_forgotten_but_for_those_that_are_held(planned: Plan) -> None:
    plan = planned()
    now = database_now()
    for days, status in ((91, "skipped"), (91, "deferred"), (89, "skipped")):
        Firing.objects.create(
            schedule=plan,
            scheduled_for=now - timedelta(days=days, hours=len(status)),
            status=status,
            created_at=now - timedelta(days=days),
        )
    assert prune_firings() == 1
    assert sorted(statuses(plan)) == ["deferred", "skipped"]


@transacted
def test_a_slot_whose_run_is_at_work_is_not_forgotten(planned: Plan) -> None:
    plan = planned(overlap=Overlap.SKIP)
    now = database_now()
    made = [start_firing(plan, now - timedelta(days=91, hours=n), Trigger.MANUAL) for n in (0, 1)]
    Firing.objects.filter(schedule=plan).update(created_at=now - timedelta(days=91))
    gone, live = (firing.run_id for firing in made)
    Run.objects.filter(pk__in=[gone]).update(status="cancelled", finished_at=now)
    assert prune_firings() == 1
    assert list(Firing.objects.filter(schedule=plan).values_list("run_id", flat=True)) == [live]
    assert has_running_run(plan)


@transacted
def test_a_defect_of_a_schedule_is_logged_once_and_not_at_every_look(
    planned: Plan, caplog: pytest.LogCaptureFixture
) -> None:
    broken = planned()
    let_pass(broken, HOUR)
    end = datetime(9999, 12, 31, 23, tzinfo=UTC)  # and its jitter leads beyond the last year
    Schedule.objects.filter(pk=broken.pk).update(begins_at=end, jitter_seconds=2**31 - 1)
    assert [fire_due(only=broken.pk) for _ in range(3)] == [0, 0, 0]
    said = [record.message for record in caplog.records if "could not be" in record.message]
    assert len(said) == 1, said
    assert said[0].startswith(f"the schedule {broken.pk} could not be fired")


def test_a_complaint_is_news_again_after_an_hour_and_for_another() -> None:
    now = 0.0
    complaints = FailureBackoff(lambda: now)
    assert [complaints.is_news(1, "x"), complaints.is_news(1, "x")] == [True, False]
    assert complaints.is_news(2, "x")
    assert complaints.is_news(1, "y")
    now = 3599
    assert not complaints.is_news(1, "x")
    now = 3601
    assert [complaints.is_news(1, "x"), complaints.is_news(1, "x")] == [True, False]
    for number in range(2000):
        complaints.is_news(number, "z")
    assert len(complaints._said) == MOST


@transacted  # unseen by the worker, whose scheduler thread would fire both
def test_a_ring_for_one_schedule_leaves_the_others_alone(planned: Plan) -> None:
    rung, other = planned(name="Rung"), planned(name="Other")
    for plan in (rung, other):
        let_pass(plan, HOUR)
    assert due_schedules(10, only=rung.pk) == [rung.pk]
    assert due_schedules(10, only=rung.pk, aside=[rung.pk]) == [rung.pk]
    assert fire_due(only=rung.pk) == 1
    assert statuses(other) == []
