"""A workflow's run, in process: nodes as calls, supersteps as commits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.actions.save_agent import create_agent
from agents.choices import RunStatus
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.models import Agent
    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio


def publish(workspace: Workspace, **content: Any) -> None:
    create_agent(workspace, WorkflowSpec.model_validate(content), by=SYSTEM)


async def test_steps_run_one_after_another(studio: Studio, agent: Callable[..., Agent]) -> None:
    def make() -> None:
        agent("scribe")
        publish(
            studio.workspace,
            name="report",
            steps={
                "find": {"agent": "scribe", "task": "[[text: facts]] {{ input.topic }}"},
                "sum": {"tool": "calculate", "arguments": {"expression": "{{ input.n }}*7"}},
                "write": {
                    "needs": ["find", "sum"],
                    "agent": "scribe",
                    "task": "[[text: done]] {{ steps.find.output }} {{ steps.sum.output }}",
                },
            },
        )

    await orm.run_in_thread(make)
    run = await studio.run('{"topic": "owls", "n": 6}', agent="report", model="openai:fake")
    print(run.error, [(e.type, e.payload) for e in await studio.events(run)])
    assert (run.kind, run.status, run.output) == ("workflow", RunStatus.SUCCEEDED, "done")
    children = await orm.run_in_thread(lambda: list(run.children.order_by("pk")))
    assert [child.task for child in children] == ["[[text: facts]] owls", "[[text: done]] facts 42"]


async def test_a_switch_takes_a_case_and_a_state_key_counts(studio: Studio) -> None:
    def make() -> None:
        publish(
            studio.workspace,
            name="count",
            state={"n": {"merge": "add", "initial": 0}},
            nodes={"up": {"set": {"n": 1}}, "far": {"set": {}}},
            start="up",
            edges=[
                {"from": "up", "cases": [{"when": "state.n < 3", "to": "up"}], "default": "far"},
                {"from": "far", "output": "{{ state.n }} of {{ input }}"},
            ],
        )

    await orm.run_in_thread(make)
    run = await studio.run("three", agent="count", model="")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "3 of three")
    types = [event.type for event in await studio.events(run)]
    assert types.count("graph.committed") == 5
    assert types.count("node.finished") == 4


async def test_entries_of_a_list_are_children_side_by_side(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def make() -> None:
        agent("scribe")
        publish(
            studio.workspace,
            name="digest",
            steps={
                "one": {
                    "each": "input.urls",
                    "agent": "scribe",
                    "task": "[[text: {{ item }}!]]",
                },
            },
        )

    await orm.run_in_thread(make)
    run = await studio.run('{"urls": ["a", "b", "c"]}', agent="digest")
    for e in await studio.events(run):
        print("EV", e.type, str(e.payload)[:400])
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert run.structured == ["a!", "b!", "c!"]


async def test_an_error_names_its_node_and_goes_to_its_handler(studio: Studio) -> None:
    def make() -> None:
        broken = {"tool": "calculate", "arguments": {"expression": "1/0"}}
        publish(studio.workspace, name="fails", steps={"sum": broken})
        publish(
            studio.workspace,
            name="handles",
            nodes={"sum": {**broken, "on_error": "say"}, "say": {"set": {}}},
            start="sum",
            edges=[{"from": "say", "output": "{{ message.node }}: {{ message.error.message }}"}],
        )

    await orm.run_in_thread(make)
    run = await studio.run("go", agent="fails", model="")
    assert run.status == RunStatus.FAILED
    assert run.error["message"].startswith('The node "sum" failed: ')
    run = await studio.run("go", agent="handles", model="")
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert run.output.startswith("sum: ")


async def test_a_sub_workflow_is_a_node(studio: Studio) -> None:
    def make() -> None:
        publish(
            studio.workspace,
            name="inner",
            nodes={"say": {"set": {}}},
            start="say",
            edges=[{"from": "say", "output": "inner {{ input.x }}"}],
        )
        publish(
            studio.workspace,
            name="outer",
            steps={"call": {"workflow": "inner", "task": {"x": "{{ input.y }}"}}},
        )

    await orm.run_in_thread(make)
    run = await studio.run('{"y": 5}', agent="outer", model="")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "inner 5")
