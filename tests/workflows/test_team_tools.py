"""An agent runs the workflows of its team, each as a tool of its own."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.decide_call import approve_call
from agents.actions.save_agent import change_agent, create_agent
from agents.choices import RunStatus
from agents.definitions.spec import AgentSpec
from agents.models import Agent, Run
from agents.querysets import calls_waiting
from agents.reads.agents import definition_of
from agents.runtime.rights.mixed_data import labels_read
from agents.runtime.toolset.offer import offered_tools
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from tests.fleet import Worker, wait_until
from tests.starts import start_run

if TYPE_CHECKING:
    from heartbit_site.base.models import Workspace
    from tests.fleet import WireServer
    from tests.runtime.conftest import Studio

NUMBER = {
    "type": "object",
    "required": ["n"],
    "properties": {"n": {"type": "integer"}},
    "additionalProperties": False,
}


def flow(name: str, queue: str = "agents", *, times: int = 2, **more: Any) -> WorkflowSpec:
    """A workflow that multiplies a number."""
    step = {"tool": "calculate", "arguments": {"expression": f"{{{{ input.n }}}} * {times}"}}
    content = {"name": name, "queue": queue, "description": "Multiplies n.", "input": NUMBER}
    graph = {} if "nodes" in more else {"steps": {"sum": step}}
    return WorkflowSpec.model_validate({**content, **graph, **more})


def lead(*team: str, queue: str = "agents", **more: Any) -> AgentSpec:
    """An agent with a team."""
    content = {"name": "lead", "description": "Leads.", "system_prompt": "Lead.", "team": [*team]}
    return AgentSpec.model_validate({**content, "queue": queue, **more})


def publish(workspace: Workspace, *specs: AgentSpec | WorkflowSpec) -> None:
    for spec in specs:
        create_agent(workspace, spec, by=SYSTEM)


async def published(studio: Studio, *specs: AgentSpec | WorkflowSpec) -> None:
    await orm.run_in_thread(lambda: publish(studio.workspace, *specs))


async def said(studio: Studio, run: Run) -> list[tuple[str, str]]:
    """The results of a run's calls."""
    ended = [one for one in await studio.events(run) if one.type == "tool.finished"]
    return [(one.payload["status"], one.payload["content"]) for one in ended]


async def children(run: Run) -> list[Run]:
    return await orm.run_in_thread(lambda: list(run.children.order_by("created_at")))


async def test_the_model_calls_it_with_data_that_fits_its_input(studio: Studio) -> None:
    await published(studio, flow("doubles"), lead("doubles"))
    run = await studio.run(
        '[[calls: workflow-doubles {"n": "four"}]] [[then: workflow-doubles {"n": 4}]]'
        "[[text: Done.]]",
        agent="lead",
    )
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Done."), run.error
    refused = (
        "The arguments of workflow-doubles are not valid; it was not called.\n"
        "- n: 'four' is not of type integer"
    )
    assert await said(studio, run) == [("invalid", refused), ("ok", "8")]
    [child] = await children(run)
    assert (child.kind, child.agent, child.task, child.root_id) == (
        "workflow",
        "doubles",
        '{"n": 4}',
        run.pk,
    )
    labels = await orm.run_in_thread(lambda: labels_read(run.pk, lambda _name: None))
    assert labels == {"private", "untrusted"}, "of calculate, which is unknown here"
    await orm.run_in_thread(lambda: child.calls.all().delete())
    labels = await orm.run_in_thread(lambda: labels_read(run.pk, lambda _name: None))
    assert labels == frozenset(), "the tool itself reads nothing"


async def test_two_run_side_by_side_and_a_list_or_a_text_is_the_input(studio: Studio) -> None:
    say = {"set": {"said": "{{ input }}"}}
    state = {"said": {"merge": "set"}}
    end = [{"from": "say", "output": "{{ state.said }}"}]
    shape: dict[str, Any] = {"nodes": {"say": say}, "start": "say", "edges": end}
    shape |= {"state": state}
    numbers = {"type": "array", "items": {"$ref": "#/$defs/N"}, "$defs": {"N": {"type": "integer"}}}
    await published(
        studio,
        flow("lists", **shape, input=numbers),
        flow("texts", **shape, input=None),
        lead("lists", "texts"),
    )
    run = await studio.run(
        '[[calls: workflow-lists {"input": [1, "x"]}, workflow-texts {"task": ""}]]'
        '[[then: workflow-lists {"input": [1, 2]}, workflow-texts {"task": "owls"}]]',
        agent="lead",
    )
    assert run.status == RunStatus.SUCCEEDED, run.error
    answers = await said(studio, run)
    assert [status for status, _ in answers] == ["invalid", "invalid", "ok", "ok"]
    assert "input[1]: 'x' is not of type integer" in answers[0][1]
    assert [text for _, text in answers[2:]] == ["[1, 2]", "owls"]
    first, second = await children(run)
    assert max(first.created_at, second.created_at) < min(
        one.finished_at for one in (first, second) if one.finished_at is not None
    )


async def test_only_agents_are_left_to_delegate_task(studio: Studio) -> None:
    scribe = AgentSpec(name="scribe", system_prompt="Write.", description="Writes.")
    await published(studio, scribe, flow("doubles"), lead("scribe", "doubles"))
    run = await studio.run("Hello.", agent="lead")
    definition = await orm.run_in_thread(
        lambda: definition_of(Run.objects.select_related("version__agent").get(pk=run.pk).version)
    )
    offer = offered_tools(definition, {}, is_child=False, has_parent=False)
    assert [*offer.specs] == ["delegate_task", "workflow-doubles"]
    assert offer.specs["workflow-doubles"].description == "Run the workflow doubles. Multiplies n."
    assert offer.specs["workflow-doubles"].parameters == NUMBER
    assert "The team: scribe (Writes.)." in offer.specs["delegate_task"].description
    assert not offered_tools(definition, {}, is_child=True, has_parent=False).specs


async def test_a_person_approves_its_call(studio: Studio) -> None:
    leads = lead("doubles", approval="always")
    await published(studio, flow("doubles"), leads)
    run_id = await studio.start('[[calls: workflow-doubles {"n": 4}]] [[text: Yes.]]', agent="lead")

    def decide() -> Run:
        waiting = calls_waiting(studio.workspace).filter(run=run_id)
        call = wait_until(waiting.select_related("run").first)
        assert not Run.objects.filter(parent=run_id).exists()
        approve_call(call, by=SYSTEM, digest=call.digest)
        wait_until(lambda: Run.objects.filter(pk=run_id, finished_at__isnull=False).exists())
        return Run.objects.get(pk=run_id)

    run = await orm.run_in_thread(decide)
    assert await said(studio, run) == [("ok", "8")]


@pytest.mark.usefixtures("database")
def test_a_run_calls_the_version_that_it_began_with(
    workspace: Workspace, wire_server: WireServer
) -> None:
    queue = f"team-{secrets.token_hex(4)}"
    publish(workspace, flow("doubles", queue), lead("doubles", queue=queue, model="openai:fake"))
    task = '[[calls: workflow-doubles {"n": 4}]] [[text: Done.]]'
    old = start_run(workspace, task, agent="lead")
    changed = flow("doubles", queue, times=3)
    written = change_agent(workspace, "doubles", changed, WorkflowSpec.model_fields, by=SYSTEM)
    assert [one.agent.name for one in written.led] == ["lead"]
    new = start_run(workspace, task, agent="lead")
    with Worker(queues=queue):
        wait_until(lambda: Run.objects.filter(pk__in=[old, new], finished_at=None).count() == 0)
    found = {}
    for run_id in (old, new):
        child = Run.objects.select_related("version").get(parent=run_id)
        found[run_id] = (child.version.number, child.output)
    assert found == {old: (1, "8"), new: (2, "12")}


def test_two_long_names_are_two_tools(workspace: Workspace) -> None:
    names = [f"{'a' * 60}-{end}" for end in "bc"]
    publish(workspace, *(flow(name) for name in names), lead(*names))
    row = Agent.objects.select_related("current_version__agent").get(
        workspace=workspace, name="lead"
    )
    assert row.current_version is not None
    offer = offered_tools(definition_of(row.current_version), {}, is_child=False, has_parent=False)
    assert [len(name) for name in offer.specs] == [64, 64]
