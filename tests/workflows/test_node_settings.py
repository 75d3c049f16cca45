"""Settings of nodes that reach into the runtime: time limits, groups, models, versions, order."""

from __future__ import annotations

import asyncio
import json
import textwrap
import threading
from typing import TYPE_CHECKING, Any

import pytest
from django.contrib.auth.models import Group
from django.core import mail

from agents.actions.publish_agent import publish_agent
from agents.actions.save_agent import create_agent
from agents.actions.waits import answer_wait, notify_approvers
from agents.choices import RunStatus
from agents.definitions.validation_messages import InvalidSettingError
from agents.errors import CallClosedError
from agents.live.follow import wait_for_end
from agents.loop.effect_gate import EffectGate
from agents.loop.workflow.node_tool import node_tool
from agents.models import Agent, Run, Wait
from agents.reads.outcome import result_of
from agents.runtime.execution import run_executor, workflow_complaints, workflows
from agents.workflows.executors.executor import executor
from agents.workflows.executors.registry import ExecutorRegistry
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM, Actor
from heartbit_site.base.suspensions import QUESTION, Question, Suspension
from heartbit_site.base.toolspec import Effect, ToolContext
from tests.fleet import wait_until
from tests.web.people import member
from tools.definitions.registry import registry as tools

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

began, released = threading.Event(), threading.Event()


@executor(effect="pure")
def hold(text: str) -> str:
    began.set()
    assert released.wait(60)
    return text


async def ask_back(context: ToolContext) -> Suspension | str:
    """Ask a person, and return the answer, as a tool of an MCP server does."""
    if context.reply is None:
        return Suspension((), 600, QUESTION, Question("Is it?", {"type": "string"}))
    return str(context.reply.value)


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = ExecutorRegistry()
    registry.add_all([hold])
    for module in (workflows, workflow_complaints):
        monkeypatch.setattr(module, "installed_executors", lambda: registry)
    for event in (began, released):
        event.clear()


def publish(workspace: Workspace, **content: Any) -> Agent:
    written = create_agent(workspace, WorkflowSpec.model_validate(content), by=SYSTEM)
    return written.row


async def open_wait(run_id: UUID) -> Wait:
    """The run's open question, once its worker is free."""

    def find() -> Wait | None:
        if Run.objects.get(pk=run_id).status != RunStatus.WAITING:
            return None
        return Wait.objects.select_related("run__workspace").get(run=run_id, resolved_at=None)

    while (wait := await orm.run_in_thread(find)) is None:
        await asyncio.sleep(0.01)
    return wait


async def test_runs_and_questions_begin_before_functions_of_the_same_superstep(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def make() -> None:
        agent("scribe")
        publish(
            studio.workspace,
            name="both",
            nodes={
                "here": {"function": "hold"},
                "there": {"agent": "scribe", "task": "[[text: done]]"},
                "asked": {"ask": "Is it?", "form": {"type": "boolean"}},
            },
            start=["here", "there", "asked"],
        )

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="both")
    ended = Run.objects.filter(parent=run_id, status=RunStatus.SUCCEEDED)
    asked = Wait.objects.filter(run=run_id, asks_person=True)
    await orm.run_in_thread(lambda: wait_until(lambda: ended.exists() and asked.exists()))
    assert (await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))).status == "running"
    released.set()
    wait = await open_wait(run_id)
    await orm.run_in_thread(lambda: answer_wait(wait, answer=True, by=SYSTEM))
    run = await wait_for_end(run_id, studio.host.window)
    assert run.structured == ["x", "done", True], run.error


async def test_a_tool_has_asked_although_its_worker_yields_meanwhile(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates: list[EffectGate] = []

    class NotedGate(EffectGate):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            gates.append(self)

    def make() -> None:
        asks = node_tool("ask_back", ask_back, effect=Effect.AT_MOST_ONCE)
        monkeypatch.setitem(tools, asks.name, asks)
        steps = {
            "asks": {"tool": "ask_back", "arguments": {}},
            "here": {"function": "hold"},
            "then": {"needs": ["here"], "function": "hold"},
        }
        publish(studio.workspace, name="asks", steps=steps)

    monkeypatch.setattr(run_executor, "EffectGate", NotedGate)
    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="asks", model="")
    assert await asyncio.to_thread(began.wait, 60)
    gates[-1].request_yield("drain")
    released.set()
    wait = await open_wait(run_id)
    assert wait.kind == "tool_question"
    await orm.run_in_thread(lambda: answer_wait(wait, answer="yes", by=SYSTEM))
    run = await wait_for_end(run_id, studio.host.window)
    assert run.structured == ["yes", "x"], run.error


async def test_a_tool_runs_no_longer_than_its_node_may(studio: Studio) -> None:
    def make() -> None:
        steps = {"wait": {"code": "import time; time.sleep(60)", "timeout": 0.5}}
        publish(studio.workspace, name="slow", steps=steps)

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="slow", model="")
    assert run.status == RunStatus.FAILED
    assert 'The node "wait" failed' in str(run.error)


async def test_code_reads_its_message_and_prints_its_output(studio: Studio) -> None:
    code = """
        import json, sys
        given = json.load(open("input.json"))
        if given["n"] < 0:
            sys.exit("below zero")
        print(json.dumps({"n": given["n"] + 1}))
    """
    source = textwrap.dedent(code)

    def make() -> None:
        steps = {
            "first": {"code": source},
            "second": {"needs": ["first"], "code": source, "task": {"n": "{{ message.n * 10 }}"}},
            "text": {"needs": ["second"], "code": "print(open('input.json').read())"},
        }
        publish(studio.workspace, name="coded", steps=steps, output="{{ steps.text.output }}")

    await orm.run_in_thread(make)
    run = await studio.run('{"n": 6}', agent="coded", model="")
    assert run.structured == {"n": 71}, run.error
    failed = await studio.run('{"n": -1}', agent="coded", model="")
    assert failed.status == RunStatus.FAILED
    assert "It ended with exit code 1. below zero" in str(failed.error)


async def test_a_run_that_continues_without_a_step_is_a_partial_success(studio: Studio) -> None:
    fails = {"tool": "calculate", "arguments": {"expression": "1 /"}}

    def make() -> None:
        steps = {
            "sum": {**fails, "on_error": "continue"},
            "text": {"needs": ["sum"], "set": {}},
        }
        publish(studio.workspace, name="goes-on", steps=steps)
        outputs = [{"from": "kept", "output": "kept"}, {"from": "kept", "to": "lost"}]
        nodes = {"kept": {"set": {}}, "lost": fails}
        publish(studio.workspace, name="ends", nodes=nodes, edges=outputs, start="kept")

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="goes-on", model="")
    result = await orm.run_in_thread(lambda: result_of(run))
    assert (run.status, result.status) == (RunStatus.SUCCEEDED, "partial")
    assert 'The node "sum" failed' in str(result.error)
    run = await studio.run("x", agent="ends", model="")
    result = await orm.run_in_thread(lambda: result_of(run))
    assert (run.status, result.status, result.text) == (RunStatus.FAILED, "partial", "kept")


async def test_only_a_group_may_answer_and_is_mailed_once(studio: Studio) -> None:
    def make() -> tuple[Actor, Actor]:
        ann, bob = (member(studio.workspace) for _ in range(2))
        ann.groups.add(Group.objects.get_or_create(name="editors")[0])
        steps = {"ask": {"ask": "Is it?", "group": "editors"}}
        publish(studio.workspace, name="asks", steps=steps)
        for one in (ann, bob):
            one.email = f"{one.pk}@example.org"
            one.save()
        return Actor(ann.username, "web", ann.pk), Actor(bob.username, "web", bob.pk)

    ann, bob = await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="asks", model="")
    wait = await open_wait(run_id)

    def decide() -> None:
        for _ in range(2):
            notify_approvers(run_id)
        with pytest.raises(CallClosedError, match="Only members of the group editors may answer"):
            answer_wait(wait, answer="yes", by=bob)
        answer_wait(wait, answer="yes", by=ann)

    await orm.run_in_thread(decide)
    assert [one.to for one in mail.outbox] == [[f"{ann.user_id}@example.org"]]
    run = await wait_for_end(run_id, studio.host.window)
    assert run.output == "yes"


async def test_an_error_that_repeats_starts_the_stronger_model(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def make() -> None:
        agent("scribe", strong_model="openai:strong")
        node = {
            "agent": "scribe",
            "task": "[[text: no number]]",
            "output": {"type": "number"},
            "retry": {"times": 2, "strong_when": "repeated"},
        }
        publish(studio.workspace, name="stubborn", steps={"count": node})

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="stubborn")
    children = await orm.run_in_thread(lambda: list(run.children.order_by("pk")))
    assert [child.model for child in children] == ["openai:fake", "openai:fake", "openai:strong"]


async def test_nodes_run_the_versions_of_agents_that_were_published_with_it(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def make() -> list[Agent]:
        scribe = agent("scribe")
        inner = publish(studio.workspace, name="inner", steps={"a": {"agent": "scribe"}})
        outer = publish(studio.workspace, name="outer", steps={"a": {"workflow": "inner"}})
        return [scribe, inner, outer]

    def change(scribe: Agent) -> None:
        Agent.objects.filter(pk=scribe.pk).update(system_prompt="Be long.")
        scribe.refresh_from_db()
        publish_agent(scribe)

    scribe, _, _ = await orm.run_in_thread(make)
    first = scribe.current_version_id
    await orm.run_in_thread(lambda: change(scribe))
    run = await studio.run("[[text: x]]", agent="outer")
    [child] = await orm.run_in_thread(lambda: list(Run.objects.filter(root=run, agent="scribe")))
    assert child.version_id == first != scribe.current_version_id


async def test_the_output_of_a_node_is_asked_of_its_agent(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def make() -> None:
        agent("scribe")
        answer = json.dumps({"n": 7})
        node = {
            "agent": "scribe",
            "task": f"[[calls: __respond__ {answer}]]",
            "output": {"type": "object", "required": ["n"]},
        }
        publish(studio.workspace, name="asks", steps={"count": node})

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="asks")
    assert (run.status, run.structured) == (RunStatus.SUCCEEDED, {"n": 7}), run.error


async def test_an_output_that_no_model_can_be_asked_for_is_a_fault(studio: Studio) -> None:
    def make() -> None:
        steps = {"count": {"agent": "writer", "output": {"type": "string", "$id": "x:y"}}}
        with pytest.raises(InvalidSettingError, match="output The response schema cannot use"):
            publish(studio.workspace, name="asks", steps=steps)

    await orm.run_in_thread(make)


async def test_an_agent_of_a_node_delegates_to_its_team(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def make() -> None:
        lead, scribe = agent("lead"), agent("scribe")
        lead.team.add(scribe)
        publish_agent(lead)
        given = json.dumps({"agent": "scribe", "task": "[[text: part]]"})
        steps = {"a": {"agent": "lead", "task": f"[[delegate: {given}]]"}}
        publish(studio.workspace, name="asks", steps=steps)

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="asks")
    parts = await orm.run_in_thread(lambda: list(Run.objects.filter(root=run, agent="scribe")))
    assert [part.output for part in parts] == ["part"], run.error
