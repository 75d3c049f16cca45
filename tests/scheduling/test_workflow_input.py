"""A schedule that runs a workflow with data, which is checked when it is saved."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.save_agent import create_agent
from agents.actions.waits import answer_wait
from agents.choices import RunStatus
from agents.models import Agent, Run, Wait
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base.access import Access
from heartbit_site.base.audit import SYSTEM
from heartbit_site.config.apply import import_config
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.export import export
from heartbit_site.config.read import parse
from heartbit_site.contract.schedules import ScheduleIn
from heartbit_site.operations.schedules import create_schedule
from scheduling.actions.fire_due import fire_due
from scheduling.actions.run_schedule import run_schedule_now
from scheduling.actions.save_schedule import save_schedule
from scheduling.actions.schedules import change_schedule
from scheduling.choices import Overlap, TaskType
from scheduling.errors import ScheduleError
from scheduling.models import Firing, Schedule
from tests.admin.conftest import browser
from tests.admin.forms import filled, filled_undrawn
from tests.cli.conftest import here
from tests.fleet import Worker, wait_until
from tests.scheduling.conftest import let_pass
from tests.scheduling.test_admin import SCHEDULES, errors, page
from tests.scheduling.test_fire import an_hour_later

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.cli.places import Place
    from tests.clients import Client

    Plan = Callable[..., Schedule]

__all__ = ["browser", "here"]

TOPIC = {"topic": "owls → \U0001f989", "n": 6}
INPUT = {
    "type": "object",
    "required": ["topic"],
    "properties": {"topic": {"type": "string"}, "n": {"type": "integer"}},
}
MISFIT = "The input does not fit the workflow digest: 'topic' is required and missing."


@pytest.fixture
def digest(workspace: Workspace) -> Agent:
    """A workflow with a queue of its own, which says what it was given."""
    content = {
        "name": "digest",
        "queue": f"digest-{secrets.token_hex(4)}",
        "input": INPUT,
        "state": {"said": {"merge": "set"}},
        "nodes": {"say": {"set": {"said": "{{ input.topic }}"}}},
        "start": "say",
        "edges": [{"from": "say", "output": "{{ state.said }}"}],
    }
    return create_agent(workspace, WorkflowSpec.model_validate(content), by=SYSTEM).row


@pytest.fixture
def daily(planned: Plan, digest: Agent) -> Plan:
    """Make a schedule of the workflow."""

    def make(**fields: Any) -> Schedule:
        usual = {"agent": digest, "task_type": TaskType.WORKFLOW, "task": "", "input": TOPIC}
        return planned(**{**usual, **fields})

    return make


def test_each_occurrence_runs_the_workflow_with_the_input_as_data(
    daily: Plan, digest: Agent
) -> None:
    plan = daily()
    for is_due in (True, False):
        if is_due:
            let_pass(plan, timedelta(hours=1))
            assert fire_due(plan.pk) == 1
        else:
            run_schedule_now(plan, by=SYSTEM)
        run = Run.objects.filter(version__agent=digest).latest("created_at")
        assert json.loads(run.task) == TOPIC
        with Worker(queues=digest.queue):
            wait_until(Run.objects.filter(pk=run.pk, finished_at__isnull=False).exists)
        run.refresh_from_db()
        assert (run.status, run.output) == (RunStatus.SUCCEEDED, TOPIC["topic"]), run.error
    assert Run.objects.filter(version__agent=digest).count() == 2


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Overlap.SKIP, ["started", "skipped"]),
        (Overlap.QUEUE, ["started", "deferred"]),
        (Overlap.PARALLEL, ["started", "started"]),
    ],
)
def test_an_occurrence_is_due_while_the_workflow_waits(
    workspace: Workspace, daily: Plan, policy: Overlap, expected: list[str]
) -> None:
    queue = f"asks-{secrets.token_hex(4)}"
    content = {"name": "asks", "queue": queue, "steps": {"a": {"ask": "Send {{ input.topic }}?"}}}
    asks = create_agent(workspace, WorkflowSpec.model_validate(content), by=SYSTEM).row
    plan = daily(agent=asks, overlap=policy)
    runs, waits = Run.objects.filter(version__agent=asks), Wait.objects.filter(resolved_at=None)

    def statuses() -> list[str]:
        found = Firing.objects.filter(schedule=plan).order_by("scheduled_for")
        return [str(one.status) for one in found]

    def all_wait() -> bool:
        live = runs.filter(finished_at=None)
        number = statuses().count("started") - runs.filter(status=RunStatus.SUCCEEDED).count()
        return live.count() == live.filter(status=RunStatus.WAITING).count() == number

    with Worker(queues=queue):
        for _ in expected:
            an_hour_later(plan)
            wait_until(all_wait)
        # Another process's clock may have begun with the last firing, and not be done.
        wait_until(lambda: statuses() == expected and all_wait(), what=f"{expected}")
        first = runs.earliest("created_at")
        answer_wait(waits.get(run=first), answer="yes", by=SYSTEM)
        wait_until(runs.filter(pk=first.pk, status=RunStatus.SUCCEEDED).exists)
        fire_due(only=plan.pk)
        assert statuses() == [one.replace("deferred", "started") for one in expected]
        wait_until(all_wait)


def test_what_does_not_fit_is_refused_in_a_sentence(
    workspace: Workspace, daily: Plan, agent: Callable[..., Any]
) -> None:
    with pytest.raises(ScheduleError) as refused:
        daily(input={"n": 1})
    assert str(refused.value) == MISFIT
    with pytest.raises(ScheduleError, match="input must be a JSON object"):
        daily(input=["owls"])
    with pytest.raises(ScheduleError, match=r"input\.api_key looks like a secret"):
        daily(input={**TOPIC, "api_key": "x"})
    with pytest.raises(ScheduleError, match="The agent clerk is not a workflow: name a workflow"):
        daily(agent=agent("clerk"))
    assert not Schedule.objects.filter(workspace=workspace).exists()


def test_a_stored_input_stays_editable_and_goes_with_its_type(daily: Plan, digest: Agent) -> None:
    plan = daily()
    digest.definition["input"]["required"] = ["title"]
    digest.save()
    plan = Schedule.objects.get(pk=plan.pk)
    plan.every_seconds = 7200
    save_schedule(plan, by=SYSTEM)
    with pytest.raises(ScheduleError, match="'title' is required and missing"):
        change_schedule(plan, {"input": {"topic": "bees"}}, by=SYSTEM)
    with pytest.raises(ScheduleError, match="is the long form of its task: The task payload needs"):
        change_schedule(plan, {"task_type": "task", "task": "x", "input": TOPIC}, by=SYSTEM)
    changed = change_schedule(plan, {"task_type": "task", "task": "x"}, by=SYSTEM)
    assert changed.input == {}


def test_the_api_and_the_command_take_and_show_it(
    workspace: Workspace, digest: Agent, here: Place
) -> None:
    add = ("schedules", "add", "Daily", "--agent", "digest", "--every", "1d", "--input")
    wrong = here(*add, '{"n": 6}')
    assert (wrong.code, wrong.err) == (2, f"heartbit: {MISFIT}\n")
    made = here(*add, json.dumps(TOPIC))
    assert made.code == 0, made.err
    row = Schedule.objects.get(workspace=workspace)
    assert (row.task_type, row.input) == ("workflow", TOPIC)
    shown = here("schedules", "show", "Daily")
    [line] = [one for one in shown.out.splitlines() if one.lstrip().startswith("input")]
    assert "owls → \U0001f989" in line
    assert here("schedules", "show", "Daily", "--json").json["input"] == TOPIC
    both = here(*add, "{}", "--tool", "calculate")
    assert (both.code, both.err.count("leave out --conversation and --tool")) == (2, 1)


def test_the_api_refuses_what_does_not_fit(workspace: Workspace, digest: Agent) -> None:
    access = Access(workspace, "ada", "api", frozenset({"agents:write"}), None)
    given = {"name": "x", "agent": "digest", "task_type": "workflow", "every_seconds": 3600}
    with pytest.raises(ScheduleError) as refused:
        create_schedule(access, ScheduleIn.model_validate({**given, "input": {"topic": 5}}))
    assert str(refused.value) == (
        "The input does not fit the workflow digest: topic: 5 is not of type string."
    )
    made = create_schedule(access, ScheduleIn.model_validate({**given, "input": TOPIC}))
    assert made.input == TOPIC


def test_the_form_takes_it_and_names_the_field(browser: Client, daily: Plan) -> None:
    known = daily(name="Known")
    shown = filled_undrawn(browser, page(known))
    assert json.loads(shown["input"]) == TOPIC
    wrong = browser.post(page(known), shown | {"input": '{"n": 6}'})
    found = wrong.context["adminform"].form.errors
    assert [*found] == ["input"]
    assert MISFIT in errors(wrong).replace("&#x27;", "'")
    done = browser.post(page(known), shown | {"input": '{"topic": "bees"}'})
    assert done.status_code == 302, errors(done)
    known.refresh_from_db()
    assert known.input == {"topic": "bees"}
    assert browser.post(page(known), filled(browser.get(page(known)))).status_code == 302
    assert browser.get(f"{SCHEDULES}add/").status_code == 200


FILE = """
[[agents]]
name = "a"
description = "Answers."
system_prompt = "Answer."

[[workflows]]
name = "digest"
[workflows.input]
type = "object"
required = ["topic"]
[workflows.steps.sum]
tool = "calculate"
arguments = { expression = "1" }

[[schedules]]
name = "Daily"
agent = "digest"
task_type = "workflow"
every_seconds = 3600
input = { topic = "owls" }
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'topic = "owls"',
            "n = 6",
            ".input does not fit the workflow \"digest\": 'topic' is required and missing.",
        ),
        ('"workflow"', '"task"\ntask = "x"', '.input is only accepted with task_type = "workflow"'),
        ('"owls"', '"owls", api_key = "x"', ".input.api_key looks like a secret"),
        ('agent = "digest"', 'agent = "a"', '.agent names "a", which is not a workflow.'),
    ],
)
def test_a_file_is_checked_before_it_is_imported(old: str, new: str, said: str) -> None:
    with pytest.raises(ConfigFileError) as refused:
        parse(FILE.replace(old, new, 1))
    assert any(said in line for line in refused.value.lines), refused.value.lines


def test_a_file_is_imported_and_exported_as_it_was(workspace: Workspace) -> None:
    import_config(workspace, parse(FILE))
    row = Schedule.objects.get(workspace=workspace)
    assert (row.task_type, row.input) == ("workflow", {"topic": "owls"})
    text = export(workspace)
    assert import_config(workspace, parse(text)).schedules.updated == ()
    assert 'topic = "owls"' in text


PAYLOAD = {"action": "review", "spec": {"module": "billing"}, "inputs": [1], "constraints": []}


def test_a_task_has_its_long_form_as_input(
    planned: Plan, here: Place, workspace: Workspace
) -> None:
    plan = planned(task="", input=PAYLOAD)
    let_pass(plan, timedelta(hours=1))
    assert fire_due(plan.pk) == 1
    run = Run.objects.get(workspace=workspace)
    assert run.payload == PAYLOAD
    assert run.task.startswith("(Scheduled for ")
    assert '"module": "billing"' in run.task
    text = json.dumps(PAYLOAD)
    add = ("schedules", "add", "Weekly", "--agent", "solo", "--every", "7d", "--payload", text)
    here(*add)
    row = Schedule.objects.get(name="Weekly", workspace=workspace)
    assert (row.task_type, row.input) == ("task", PAYLOAD)
    assert '"billing"' in here("schedules", "show", "Weekly").out
