"""A firing may be decided by a condition, a tool or a workflow before any model is asked."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db.models import F

from agents.models import Agent, Run
from scheduling.actions.fire_due import fire_due
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.choices import Overlap
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from tests.scheduling.conftest import ANN, let_pass

Plan = Callable[..., Schedule]
pytestmark = pytest.mark.django_db


def fire(plan: Schedule) -> Firing:
    """Let an hour pass, and fire the slot that has come."""
    hour = timedelta(hours=1)
    let_pass(plan, hour)
    Firing.objects.filter(schedule=plan).update(scheduled_for=F("scheduled_for") - hour)
    Run.objects.filter(workspace=plan.workspace).update(idempotency_key=None)  # as in test_fire
    fire_due(only=plan.pk)
    return Firing.objects.filter(schedule=plan).latest("scheduled_for")


def end(run_id: UUID | None, output: str | None, status: str = "succeeded") -> None:
    """End a run as a worker would."""
    assert run_id is not None
    error = None if output is not None else {"kind": "tool", "message": "The feed is gone."}
    Run.objects.filter(pk=run_id).update(status="running")
    Run.objects.filter(pk=run_id).update(
        status=status, output=output, error=error, finished_at=F("created_at")
    )


@pytest.fixture
def tested(planned: Plan, agent: Callable[..., Agent]) -> Plan:
    """Make a schedule of an agent with tools."""
    reader = agent("reader", tools=("current_time",))
    return lambda **fields: planned(agent=reader, name="Tested", **fields)


def test_a_condition_on_the_last_result_decides_without_a_run(planned: Plan) -> None:
    plan = planned(test={"when": "last == None or last.data.open > 0"})
    first = fire(plan)
    assert first.run_id is not None
    end(first.run_id, '{"open": 0}')
    skipped = fire(plan)
    assert (skipped.status, skipped.run_id) == ("skipped", None)
    assert skipped.note == "Its test said no: `last == None or last.data.open > 0` is false."


@pytest.mark.parametrize(("output", "status"), [("[1]", "started"), ("[]", "skipped")])
def test_a_tool_decides_once_its_run_has_ended(tested: Plan, output: str, status: str) -> None:
    plan = tested(test={"tool": "current_time"}, overlap=Overlap.PARALLEL)
    waiting = fire(plan)
    assert (waiting.status, waiting.note, waiting.run_id) == (
        "deferred", "Its test has not ended: it runs, or waits for a person.", None,
    )  # fmt: skip
    assert fire_due() == 0, "nothing to do until the test ends"
    assert waiting.test_run_id is not None
    run = Run.objects.get(pk=waiting.test_run_id)
    assert (run.kind, run.started_by) == ("tool_call", "schedule Tested")
    end(run.pk, output)
    assert (fire_due(), fire_due()) == (1, 0)
    waiting.refresh_from_db()
    assert waiting.status == status
    assert (waiting.run_id is None) == (status == "skipped")
    assert Run.objects.filter(workspace=plan.workspace).count() == (1 + (status == "started"))


@pytest.mark.parametrize(("on_error", "status"), [("run", "started"), ("skip", "skipped")])
def test_a_failed_test_counts_as_its_setting_says(tested: Plan, on_error: str, status: str) -> None:
    plan = tested(test={"tool": "current_time", "on_error": on_error})
    waiting = fire(plan)
    end(waiting.test_run_id, None, "failed")
    fire_due(only=plan.pk)
    waiting.refresh_from_db()
    assert waiting.status == status
    assert waiting.note == f"Its test failed, and on_error is {on_error}: The feed is gone."


@pytest.mark.parametrize(("on_error", "status"), [("run", "started"), ("skip", "skipped")])
@pytest.mark.parametrize("output", ["[" * 100_000, "[1" + "0" * 30 + "]"])
def test_a_hostile_result_is_a_failed_test(
    tested: Plan, on_error: str, status: str, output: str
) -> None:
    plan = tested(test={"tool": "current_time", "when": "result", "on_error": on_error})
    waiting = fire(plan)
    end(waiting.test_run_id, output)
    fire_due(only=plan.pk)
    waiting.refresh_from_db()
    assert waiting.status == status
    assert waiting.note.startswith(f"Its test failed, and on_error is {on_error}: The JSON ")


def test_a_hostile_last_result_is_a_text(planned: Plan) -> None:
    plan = planned(test={"when": "last == None or 'x' in last.data", "on_error": "skip"})
    first = fire(plan)
    end(first.run_id, "[" * 100_000)
    skipped = fire(plan)
    assert (skipped.status, skipped.run_id) == ("skipped", None)
    assert skipped.note == "Its test said no: `last == None or 'x' in last.data` is false."


def test_a_slot_during_a_test_is_skipped_and_a_person_is_not_tested(tested: Plan) -> None:
    plan = tested(test={"tool": "current_time"})
    waiting = fire(plan)
    assert fire(plan).note == "The previous run was still active."
    assert run_schedule_now(plan, by=ANN) is not None
    waiting.refresh_from_db()
    assert waiting.status == "deferred"


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ({"tool": "nothing"}, "unknown tool"),
        ({"workflow": "nothing"}, "names a workflow 'nothing'"),
        ({"when": "steps.a.output"}, 'reads "steps", which is unknown'),
        ({"when": "result > 0"}, "names no tool and no workflow"),
        ({"on_error": "run"}, "decides nothing"),
        ({"tools": "x"}, "tools"),
    ],
)
def test_a_test_that_cannot_be_run_is_refused(
    tested: Plan, test: dict[str, object], said: str
) -> None:
    with pytest.raises(ScheduleError, match="The schedule's test") as refused:
        tested(test=test)
    assert said in str(refused.value)
