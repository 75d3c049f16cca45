"""Slots whose run cannot start for now: they wait, are tried again, and given up after a day."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from secrets import token_hex
from typing import TYPE_CHECKING

import pytest
from django.db import connection
from django.db.models import F

from agents.actions.fleet import pause_work, set_agent_state
from agents.actions.runs import cancel_run
from agents.limits import pauses
from agents.models import Agent, Run
from heartbit_site.base.models import Tier, Workspace
from scheduling.actions.fire_due import fire_due
from scheduling.actions.run_schedule import backfill_schedule, run_schedule_now
from scheduling.choices import CatchUp, FiringStatus, Kind, Overlap, TaskType, Trigger
from scheduling.errors import ScheduleConflictError
from scheduling.firings import GIVEN_UP, LONGEST, SHORTEST, start_firing
from scheduling.models import Firing, Schedule
from scheduling.querysets import database_now
from tests.outages import account_of, outages
from tests.scheduling.conftest import ANN, let_pass

if TYPE_CHECKING:
    from collections.abc import Iterator

Plan = Callable[..., Schedule]
HOUR = timedelta(hours=1)
transacted = pytest.mark.django_db


@pytest.fixture
def spent(workspace: Workspace) -> Iterator[Tier]:
    """The workspace has started its runs of today."""
    tier = Tier.objects.create(name=f"tiny-{token_hex(4)}", runs_per_day=0)
    Workspace.objects.filter(pk=workspace.pk).update(tier=tier)
    yield tier
    Workspace.objects.filter(pk=workspace.pk).update(tier=None)
    tier.delete()


def lift(tier: Tier) -> None:
    Tier.objects.filter(pk=tier.pk).update(runs_per_day=None)


def firings(schedule: Schedule) -> list[Firing]:
    return list(Firing.objects.filter(schedule=schedule).order_by("scheduled_for"))


def statuses(schedule: Schedule) -> list[str]:
    return [str(firing.status) for firing in firings(schedule)]


def later(schedule: Schedule, by: timedelta) -> None:
    """Let time pass for what a schedule has tried, and look."""
    rows = Firing.objects.filter(schedule=schedule)
    rows.update(first_deferred_at=F("first_deferred_at") - by, retry_at=F("retry_at") - by)
    fire_due(only=schedule.pk)


def once(planned: Plan) -> Schedule:
    plan = planned(kind=Kind.ONCE, at=database_now() + HOUR)
    let_pass(plan, HOUR)
    return plan


def pause_of(firing: Firing) -> timedelta:
    assert firing.retry_at is not None
    return firing.retry_at - database_now()


@transacted
def test_a_reminder_waits_for_the_quota_and_comes_once(planned: Plan, spent: Tier) -> None:
    plan = once(planned)
    assert fire_due(only=plan.pk) == 1
    [held] = firings(plan)
    assert held.status == FiringStatus.DEFERRED
    assert held.note.startswith("Retried for a day: The workspace t-")
    assert SHORTEST - timedelta(seconds=20) < pause_of(held) <= SHORTEST
    assert fire_due(only=plan.pk) == 0, "not before its pause is over"
    waited = []
    for _ in range(9):
        later(plan, pause_of(firings(plan)[0]))
        waited.append(round(pause_of(firings(plan)[0]) / SHORTEST))
    assert waited == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert LONGEST == 60 * SHORTEST
    lift(spent)
    later(plan, LONGEST)
    assert fire_due(only=plan.pk) == 0
    [started] = firings(plan)
    assert (started.status, started.note, started.retry_at) == ("started", "", None)
    assert Run.objects.filter(workspace=plan.workspace).count() == 1


@transacted
def test_after_a_day_it_has_failed_and_says_why(planned: Plan, spent: Tier) -> None:
    plan = once(planned)
    fire_due(only=plan.pk)
    later(plan, GIVEN_UP)
    [failed] = firings(plan)
    assert (failed.status, failed.retry_at) == (FiringStatus.FAILED, None)
    assert failed.note.startswith("The workspace t-")
    lift(spent)
    assert fire_due(only=plan.pk) == 0


def halt(plan: Schedule) -> None:
    pause_work(pauses.of_workspace(plan.workspace), by=ANN)


def stop(plan: Schedule) -> None:
    set_agent_state(plan.agent, "stop")
    plan.agent.enabled = False
    plan.agent.save()


def fill(plan: Schedule) -> None:
    plan.agent.max_runs_per_minute = 0
    plan.agent.save()


@pytest.mark.parametrize("hinder", [halt, stop, fill])
@transacted
def test_whatever_may_pass_holds_a_slot(planned: Plan, hinder: Callable[[Schedule], None]) -> None:
    plan = planned()
    hinder(plan)
    held = start_firing(plan, database_now(), Trigger.SCHEDULE)
    assert (held.status, held.run_id) == (FiringStatus.DEFERRED, None), held.note
    assert held.retry_at is not None


@pytest.mark.parametrize("kind", [TaskType.TASK, TaskType.MESSAGE])
@transacted
def test_a_model_that_does_not_answer_holds_a_slot(
    planned: Plan, agent: Callable[..., Agent], kind: TaskType
) -> None:
    plan = planned(task_type=kind, agent=agent("asker", model="openai:fake"))
    with outages() as outage:
        outage(account_of(plan.workspace, "openai"))
        held = start_firing(plan, database_now(), Trigger.SCHEDULE)
    assert (held.status, held.run_id) == (FiringStatus.DEFERRED, None), held.note
    assert "openai:fake" in held.note


@transacted
def test_what_has_to_be_mended_fails_at_once(planned: Plan) -> None:
    plan = once(planned)
    plan.agent.current_version = None
    plan.agent.save()
    fire_due(only=plan.pk)
    assert statuses(plan) == ["failed"]


@transacted
def test_run_now_is_refused_and_writes_nothing(planned: Plan, spent: Tier) -> None:
    plan = planned()
    with pytest.raises(ScheduleConflictError, match="has started its 0 runs of today"):
        run_schedule_now(plan, by=ANN)
    assert firings(plan) == []


@pytest.mark.parametrize(
    ("missed", "overlap", "first"),
    [
        (CatchUp.LATEST, Overlap.SKIP, "skipped"),
        (CatchUp.NONE, Overlap.PARALLEL, "skipped"),
        (CatchUp.ALL, Overlap.SKIP, "deferred"),
        (CatchUp.LATEST, Overlap.QUEUE, "deferred"),
    ],
)
@transacted
def test_when_the_next_slot_comes_its_policies_decide(
    planned: Plan, spent: Tier, missed: CatchUp, overlap: Overlap, first: str
) -> None:
    plan = planned(catch_up=missed, overlap=overlap)
    for _ in range(2):
        let_pass(plan, HOUR)
        for row in firings(plan):  # the oldest first: no two have the same slot in between
            Firing.objects.filter(pk=row.pk).update(scheduled_for=row.scheduled_for - HOUR)
        fire_due(only=plan.pk)
    assert statuses(plan) == [first, "deferred"]
    if first == "skipped":
        note = firings(plan)[0].note
        assert note.startswith("It could not start before the next firing: The workspace t-")
    lift(spent)
    later(plan, LONGEST)
    assert statuses(plan) == (
        ["skipped", "started"] if first == "skipped" else ["started", "deferred"]
    ), "one after the other"
    for run in Run.objects.filter(workspace=plan.workspace):
        cancel_run(plan.workspace, run.pk, reason="x")
    fire_due(only=plan.pk)
    assert statuses(plan)[1] == "started"


@transacted
def test_no_more_of_them_wait_than_are_made_up_for(
    planned: Plan, spent: Tier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scheduling.firings.MOST", 2)
    plan = planned(catch_up=CatchUp.ALL)
    for _ in range(4):
        let_pass(plan, HOUR)
        for row in firings(plan):  # the oldest first: no two have the same slot in between
            Firing.objects.filter(pk=row.pk).update(scheduled_for=row.scheduled_for - HOUR)
        fire_due(only=plan.pk)
    assert statuses(plan) == ["skipped", "skipped", "deferred", "deferred"]


@transacted
def test_what_is_made_up_for_waits_in_its_order(planned: Plan, spent: Tier) -> None:
    plan = planned(overlap=Overlap.PARALLEL)
    now = database_now()
    assert backfill_schedule(plan, now - 3 * HOUR, now, by=ANN) == 3
    fire_due(only=plan.pk)
    rows = firings(plan)
    assert {row.status for row in rows} == {"deferred"}
    assert [row.note[:5] for row in rows] == ["Retri", "Backf", "Backf"], "one was tried"
    assert len({row.retry_at for row in rows}) == 1
    [since] = {row.first_deferred_at for row in rows}
    assert since is not None, "the day of those behind has begun too"
    assert fire_due(only=plan.pk) == 0
    lift(spent)
    later(plan, SHORTEST)
    assert statuses(plan) == ["started"] * 3
    assert not Firing.objects.filter(schedule=plan, retry_at__isnull=False).exists()


def test_many_clocks_at_once_start_what_waited_once(planned: Plan, spent: Tier) -> None:
    plan = once(planned)
    fire_due(only=plan.pk)
    assert statuses(plan) == ["deferred"]
    lift(spent)
    Firing.objects.filter(schedule=plan).update(retry_at=F("retry_at") - SHORTEST)
    barrier = threading.Barrier(8)

    def look() -> None:
        barrier.wait()
        for _ in range(3):
            fire_due(only=plan.pk)
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses(plan) == ["started"]
    assert Run.objects.filter(workspace=plan.workspace).count() == 1
