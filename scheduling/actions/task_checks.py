"""Checks of what a schedule starts: the tool, the workflow, and the test before them."""

from __future__ import annotations

from agents.choices import RunKind
from agents.definitions.server_grants import names_in
from agents.definitions.validation_messages import secrets, sentence_of
from agents.definitions.validators import unknown_tool
from agents.models import Agent
from agents.output.payload import PayloadError, parse
from heartbit_site.base.errors import HeartbitError
from heartbit_site.base.jsonschema import validate
from heartbit_site.base.models import Workspace
from scheduling.choices import TaskType
from scheduling.errors import ScheduleError
from scheduling.models import Schedule
from scheduling.slot_test import read_test
from tools.calls.call_parsing import misfit
from tools.definitions.catalogue import catalogue


def check_tool(schedule: Schedule) -> None:
    """Reject a tool that does not exist, or that the agent does not have."""
    if schedule.task_type != TaskType.TOOL_CALL:
        return
    if not schedule.tool:
        raise ScheduleError("A scheduled tool call needs a tool: name it in `tool`.")
    if not schedule.agent_id:
        return  # reported for the agent
    known = catalogue(schedule.agent.workspace_id)
    if unknown := unknown_tool(schedule.tool, known):
        raise ScheduleError(f"The schedule's {sentence_of(('tool',), unknown)}")
    given = schedule.agent.bindings.values_list("tool", flat=True)
    if schedule.tool not in names_in(given, known):
        raise ScheduleError(
            f"The agent {schedule.agent.name} has no tool {schedule.tool[:64]!r}: it has "
            f"{', '.join(given) or 'none'}."
        )


def check_arguments(schedule: Schedule) -> None:
    """Reject new arguments with secrets, or that do not fit: a stored schedule stays editable."""
    if schedule.task_type != TaskType.TOOL_CALL:
        return
    stored = Schedule.objects.filter(
        pk=schedule.pk, agent=schedule.agent_id, tool=schedule.tool, arguments=schedule.arguments
    )
    if stored.exists():
        return
    known = catalogue(schedule.agent.workspace_id) if schedule.agent_id else {}
    spec = known.get(schedule.tool)
    own = () if spec is None else spec.parameters.get("properties", ())
    for path, message in secrets(schedule.arguments, ("arguments",), parameters=own):
        raise ScheduleError(f"The schedule's {sentence_of(path, message)}")
    if spec is None:
        return  # reported for the tool
    binding = schedule.agent.bindings.filter(tool=spec.name).first()
    if problem := misfit(spec, schedule.arguments, binding.defaults if binding else {}):
        raise ScheduleError(problem)


def check_input(schedule: Schedule) -> None:
    """Reject a new input with secrets, or that does not fit the workflow, or is no long form."""
    if schedule.task_type == TaskType.TASK and schedule.input:
        _check_long_form(schedule)
        return
    if schedule.task_type != TaskType.WORKFLOW or not schedule.agent_id:
        return
    agent = schedule.agent
    if agent.kind != RunKind.WORKFLOW:
        raise ScheduleError(
            f"The agent {agent.name} is not a workflow: name a workflow, or choose another "
            "task_type."
        )
    stored = Schedule.objects.filter(pk=schedule.pk, agent=agent, input=schedule.input)
    if stored.filter(task_type=TaskType.WORKFLOW).exists():
        return
    schema = agent.definition.get("input") or {}
    for path, message in secrets(
        schedule.input, ("input",), parameters=schema.get("properties", ())
    ):
        raise ScheduleError(f"The schedule's {sentence_of(path, message)}")
    if problems := validate(schema, schedule.input):
        raise ScheduleError(
            f"The input does not fit the workflow {agent.name}: {'; '.join(problems)}."
        )


def _check_long_form(schedule: Schedule) -> None:
    if Schedule.objects.filter(
        pk=schedule.pk, task_type=TaskType.TASK, input=schedule.input
    ).exists():
        return
    for path, message in secrets(schedule.input, ("input",)):
        raise ScheduleError(f"The schedule's {sentence_of(path, message)}")
    try:
        parse(schedule.input)
    except PayloadError as error:
        raise ScheduleError(f"The schedule's input is the long form of its task: {error}") from None


def check_test(schedule: Schedule, workspace: Workspace) -> None:
    """Reject a new test whose tool or workflow could not be run, as if it were the task itself."""
    test = read_test(schedule.test)
    if test is None or not test.starts_run or not schedule.agent_id:
        return
    stored = Schedule.objects.filter(pk=schedule.pk, agent=schedule.agent_id, test=schedule.test)
    if stored.exists():
        return
    task = Schedule(agent=schedule.agent, task_type=TaskType.TOOL_CALL)
    task.tool, task.arguments = test.tool, test.arguments
    if test.workflow:
        rows = Agent.objects.filter(workspace=workspace, origin="", name=test.workflow)
        workflow = rows.first()
        if workflow is None:
            raise ScheduleError(
                f"The schedule's test names a workflow {test.workflow!r}, which the workspace "
                f"{workspace.slug} does not have."
            )
        task = Schedule(agent=workflow, task_type=TaskType.WORKFLOW, input=test.input)
    try:
        for check in (check_tool, check_arguments, check_input):
            check(task)
    except HeartbitError as error:
        raise ScheduleError(f"The schedule's test cannot be run: {error}") from None
