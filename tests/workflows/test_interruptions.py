"""What ends or changes a run from outside: budgets, late decisions, cancels, forks and steering."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.decide_call import approve_call
from agents.actions.fleet import set_agent_state
from agents.actions.fork_run import Edits, fork_run
from agents.actions.inbox import reply_to_message
from agents.actions.run_request import start_conversation
from agents.actions.runs import cancel_run, steer_run
from agents.actions.waits import answer_wait
from agents.choices import BusyPolicy, Placement, RunStatus
from agents.errors import CallClosedError, RunStateError
from agents.live.follow import wait_for_end
from agents.messaging.addresses import sender_of_person
from agents.models import Agent, Message, Run
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from tests.starts import post_message
from tests.workflows.test_decisions import waiting_call
from tests.workflows.test_engine import open_waits, publish

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.actions.admit import Admitted
    from agents.models import Conversation
    from tests.runtime.conftest import Studio

BROKEN = {"tool": "calculate", "arguments": {"expression": "1/0"}}


@pytest.mark.parametrize(
    "graph",
    [
        {
            "nodes": {"a": {"agent": "scribe"}, "b": {"agent": "scribe"}},
            "start": "a",
            "edges": [{"from": "a", "to": "b"}],
        },
        {
            "nodes": {"a": {"agent": "scribe", "each": "input.list", "max_parallel": 1}},
            "start": "a",
        },
    ],
    ids=["between supersteps", "inside one"],
)
async def test_a_budget_ends_a_run_and_is_named(
    studio: Studio, agent: Callable[..., Agent], graph: dict[str, Any]
) -> None:
    """Conformance case 24."""

    def make() -> None:
        agent("scribe")
        publish(studio.workspace, name="dear", order="barrier", limits={"tokens": 1}, **graph)

    await orm.run_in_thread(make)
    run = await studio.run(json.dumps({"list": list("abcdef")}), agent="dear")
    assert run.status == RunStatus.FAILED
    assert "The run has reached its limit of 1 tokens" in str(run.error)
    assert (run.error or {})["limit"] == "tokens"
    statuses = await orm.run_in_thread(lambda: [child.status for child in run.children.all()])
    assert statuses.count(RunStatus.SUCCEEDED) == 1


@pytest.mark.parametrize("failure", ["fast", "finish"])
async def test_an_approval_is_open_while_another_node_fails(
    studio: Studio, agent: Callable[..., Agent], failure: str
) -> None:
    """Conformance case 11: a late decision is told so, or is waited for."""

    def make() -> None:
        agent("scribe")
        publish(
            studio.workspace,
            name="two",
            order="barrier",
            failure=failure,
            tools=[{"name": "calculate", "approval": "always"}],
            nodes={
                "asked": {"tool": "calculate", "arguments": {"expression": "6*7"}},
                "bad": {"agent": "scribe", "task": "[[error: 400]] [[latency: 200]] Fail."},
            },
            start=["asked", "bad"],
        )

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="two")
    call = await waiting_call(studio, run_id)
    if failure == "finish":
        while not await orm.run_in_thread(
            lambda: Run.objects.filter(parent=run_id, status=RunStatus.FAILED).exists()
        ):
            await asyncio.sleep(0.02)
        await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=SYSTEM))
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.FAILED
    assert 'The node "bad" failed' in str(run.error)
    decided = await orm.run_in_thread(lambda: run.calls.get(tool="asked"))
    assert decided.status == ("ok" if failure == "finish" else "cancelled")
    with pytest.raises(CallClosedError):
        await orm.run_in_thread(lambda: approve_call(call, digest=call.digest, by=SYSTEM))


async def test_a_fork_is_forked_and_the_beginning_takes_another_input(studio: Studio) -> None:
    """Conformance case 13."""

    def make() -> None:
        publish(
            studio.workspace,
            name="count",
            state={"n": {"merge": "append", "initial": []}},
            nodes={"up": {"set": {"n": "{{ input }}"}}},
            start="up",
            edges=[
                {"from": "up", "to": "up", "when": "len(state.n) < 4"},
                {"from": "up", "output": "{{ state.n }}", "when": "len(state.n) >= 4"},
            ],
        )

    async def fork(source: Run, step: int, **edits: Any) -> Run:
        made = await orm.run_in_thread(
            lambda: fork_run(source, step, edits=Edits(**edits), by=SYSTEM, home=Placement.LOCAL)
        )
        studio.host.execute(made.run_id)
        return await wait_for_end(made.run_id, studio.host.window)

    await orm.run_in_thread(make)
    run = await studio.run("a", agent="count", model="")
    first = await fork(run, 2)
    second = await fork(first, 3)
    other = await fork(second, 0, task="b")
    assert [one.structured for one in (run, first, second, other)] == [["a"] * 4] * 3 + [["b"] * 4]
    stories = [
        [event.type for event in await studio.events(one) if event.type.startswith(("no", "gr"))]
        for one in (run, first, second, other)
    ]
    assert stories == [stories[0]] * 4


async def test_a_sub_workflow_that_fails_is_an_error_of_its_node(studio: Studio) -> None:
    """Conformance case 19."""

    def make() -> None:
        publish(studio.workspace, name="inner", steps={"a": BROKEN})
        steps = {
            "call": {"workflow": "inner", "on_error": "continue"},
            "say": {"needs": ["call"], "set": {}},
        }
        publish(
            studio.workspace, name="outer", steps=steps, output="{{ steps.call.error.message }}"
        )

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="outer", model="")
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert str(run.output).startswith('inner: The node "a" failed: ')


async def test_a_sub_workflow_that_is_cancelled_is_an_error_of_its_node(studio: Studio) -> None:
    """Conformance case 19."""

    def make() -> None:
        publish(studio.workspace, name="inner", steps={"a": {"ask": "Go on?"}})
        publish(studio.workspace, name="outer", steps={"call": {"workflow": "inner"}})

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="outer", model="")
    inner: Run | None = None
    while inner is None:
        inner = await orm.run_in_thread(
            lambda: Run.objects.filter(parent=run_id, status=RunStatus.WAITING).first()
        )
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, inner.pk, reason="enough"))
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.FAILED
    assert 'The node "call" failed: inner: ' in str(run.error)


@pytest.mark.parametrize("work", ["agent", "workflow"])
@pytest.mark.parametrize("fate", ["stopped", "deleted"])
async def test_what_a_node_runs_is_gone_when_the_run_comes_to_it(
    studio: Studio, agent: Callable[..., Agent], work: str, fate: str
) -> None:
    """Conformance case 19: the run fails in a sentence that names the node and the agent."""

    def make() -> None:
        if work == "agent":
            agent("inner")
        else:
            publish(studio.workspace, name="inner", steps={"a": {"set": {}}})
        steps = {
            "wait": {"ask": "Go on?"},
            "call": {work: "inner", "needs": ["wait"], "task": "Go."},
            "other": {"workflow": "good", "needs": ["wait"]},
            "sum": {"tool": "calculate", "arguments": {"expression": "1"}, "needs": ["wait"]},
        }
        publish(studio.workspace, name="good", steps={"a": {"set": {}}})
        publish(studio.workspace, name="outer", steps=steps, failure="finish")

    def end() -> None:
        row = Agent.objects.get(workspace=studio.workspace, name="inner")
        if fate == "stopped":
            assert set_agent_state(row, "stop")
        else:
            row.delete()

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="outer", model="")
    [wait] = await open_waits(run_id, 1)
    await orm.run_in_thread(end)
    await orm.run_in_thread(lambda: answer_wait(wait, answer="yes", by=SYSTEM))
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.FAILED
    assert 'The node "call" failed: The agent inner is gone or stopped' in str(run.error)
    others = await orm.run_in_thread(lambda: list(run.children.values_list("agent", "status")))
    assert others == [("good", RunStatus.SUCCEEDED)]


async def test_a_workflow_is_not_steered(studio: Studio) -> None:
    """Conformance case 23."""

    def make() -> None:
        publish(studio.workspace, name="asks", steps={"a": {"ask": "Go on?"}})

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="asks", model="")
    run = await orm.run_in_thread(lambda: Run.objects.get(pk=run_id))
    with pytest.raises(RunStateError, match="only an agent's run can be steered"):
        await orm.run_in_thread(lambda: steer_run(run, "Hurry."))
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="done"))
    assert (await wait_for_end(run_id, studio.host.window)).status == RunStatus.CANCELLED


async def test_a_message_that_would_steer_waits_for_the_end_of_a_workflow(studio: Studio) -> None:
    """Conformance case 23."""

    def make() -> Conversation:
        publish(studio.workspace, name="asks", steps={"a": {"ask": "Go on with {{ input }}?"}})
        return start_conversation(studio.workspace, agent="asks")

    def say(text: str) -> Admitted:
        policy = BusyPolicy.STEER
        return post_message(thread, text, by=SYSTEM, home=Placement.LOCAL, busy_policy=policy)

    thread = await orm.run_in_thread(make)
    first = await orm.run_in_thread(lambda: say("one"))
    studio.host.execute(first.run_id)
    [wait] = await open_waits(first.run_id, 1)
    second = await orm.run_in_thread(lambda: say("two"))
    assert (first.outcome, second.outcome) == ("started", "queued")
    assert second.run_id != first.run_id
    await orm.run_in_thread(lambda: answer_wait(wait, answer="yes", by=SYSTEM))
    run = await wait_for_end(first.run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "yes"), run.error
    assert "run.steered" not in [event.type for event in await studio.events(run)]
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, second.run_id, reason="done"))


async def test_a_reply_waits_in_the_inbox_until_a_node_reads_it(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    """Conformance case 23: a workflow's run is not told, since no model would read it."""

    def make() -> None:
        agent("scribe")
        steps = {
            "tell": {"tool": "send_message", "arguments": {"to": "scribe", "text": "Done?"}},
            "wait": {"ask": "Go on?", "needs": ["tell"]},
            "read": {"tool": "read_messages", "arguments": {}, "needs": ["wait"]},
        }
        tools = [{"name": "send_message"}, {"name": "read_messages"}]
        publish(studio.workspace, name="asks", steps=steps, tools=tools)

    def reply() -> None:
        person = sender_of_person(studio.workspace, SYSTEM)
        reply_to_message(person, str(Message.objects.get(source_run_id=run_id).pk), "Yes, done.")

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="asks", model="")
    [wait] = await open_waits(run_id, 1)
    await orm.run_in_thread(reply)
    await orm.run_in_thread(lambda: answer_wait(wait, answer="yes", by=SYSTEM))
    run = await wait_for_end(run_id, studio.host.window)
    assert "Yes, done." in str(run.output), run.error
    assert "run.steered" not in [event.type for event in await studio.events(run)]
