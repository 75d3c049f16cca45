"""An agent asks another one and waits, without a worker, until the answer is there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from agents.actions.publish_agent import publish_agent
from agents.actions.runs import cancel_run
from agents.actions.send_message import ask_agent
from agents.choices import RunStatus
from agents.journal.events import CallWaiting
from agents.live.follow import wait_for_end
from agents.models import Agent, Message, Run, ToolCall
from heartbit_site.base import orm
from tests.messaging.conftest import ALL, Writes, ping_pong
from tests.runtime.deciding import happened

if TYPE_CHECKING:
    from pytest_django.fixtures import Settings

    from heartbit_site.base.models import Workspace
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]


def ask(to: str, question: str, **more: object) -> str:
    return f"ask_agent {json.dumps({'to': to, 'question': question, **more})}"


async def call_of(run: Run, call_id: str = "1.0") -> ToolCall:
    return await orm.run_in_thread(lambda: ToolCall.objects.get(run=run, call_id=call_id))


async def two(agent: Create) -> None:
    """Agents ``one`` and ``two`` with all the tools."""
    await orm.run_in_thread(lambda: [agent(name, tools=ALL) for name in ("one", "two")])


async def test_the_answer_is_the_result_of_the_call(studio: Studio, agent: Create) -> None:
    await two(agent)
    run = await studio.run(
        f"[[calls: {ask('two', 'What is it? [[text: Forty-two.]]')}]] [[text: Thanks.]]",
        agent="one",
    )
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Thanks.")
    call = await call_of(run)
    assert (call.status, call.effect, call.result) == ("ok", "idempotent", "two: Forty-two.")
    child = await orm.run_in_thread(lambda: run.children.get())
    request = await orm.run_in_thread(lambda: Message.objects.get(workspace=studio.workspace))
    assert (request.kind, request.run_id, request.source_run_id) == ("request", child.pk, run.pk)
    assert request.expires_at is not None
    assert child.task.startswith("Question from agent:one, who waits")


async def test_two_are_asked_at_once(studio: Studio, agent: Create) -> None:
    await two(agent)
    calls = [ask("two", "[[text: Yes.]]"), ask("writer", "[[text: No.]]")]
    run = await studio.run(f"[[calls: {', '.join(calls)}]] [[text: Both.]]", agent="one")
    assert run.output == "Both."
    assert (await call_of(run, "1.0")).result == "two: Yes."
    assert (await call_of(run, "1.1")).result == "writer: No."


async def test_who_is_asked_may_ask_in_turn(studio: Studio, agent: Create) -> None:
    await two(agent)
    inner = f"[[calls: {ask('writer', '[[text: Deep.]]')}]] [[text: I asked.]]"
    run = await studio.run(f"[[calls: {ask('two', inner)}]] [[text: Done.]]", agent="one")
    assert run.output == "Done."
    tree = await orm.run_in_thread(lambda: list(run.tree.order_by("created_at")))
    assert [(one.agent, one.output) for one in tree] == [
        *(("one", "Done."), ("two", "I asked."), ("writer", "Deep.")),
    ]
    assert [one.parent_id for one in tree] == [None, tree[0].pk, tree[1].pk]


async def test_agents_that_ask_each_other_are_stopped(
    studio: Studio, agent: Create, settings: Settings
) -> None:
    settings.HEARTBIT_MAX_MESSAGE_HOPS = 2
    await two(agent)
    script = ping_pong("ask_agent", "question", ("one", "two"), 6)
    run = await studio.run(script, agent="one")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "Round."), "none of them failed"
    sent = await orm.run_in_thread(
        lambda: Message.objects.filter(workspace=studio.workspace).order_by("created_at")
    )
    assert await orm.run_in_thread(lambda: [message.hops for message in sent]) == [0, 1, 2]
    last = await orm.run_in_thread(lambda: run.tree.order_by("-created_at").first())
    assert last is not None
    call = await call_of(last)
    assert call.status == "error"
    assert "3 messages in a row" in (call.result or "")


async def test_who_does_not_answer_in_time_is_cancelled(studio: Studio, agent: Create) -> None:
    await two(agent)
    run = await studio.run(
        f"[[calls: {ask('two', '[[hang: headers]]', timeout_seconds=1)}]] [[text: Without.]]",
        agent="one",
    )
    assert run.output == "Without."
    assert (await call_of(run)).result == "two: (did not finish in time)"
    child = await orm.run_in_thread(lambda: run.children.get())
    child = await wait_for_end(child.pk, studio.host.window)
    assert child.status == RunStatus.CANCELLED


async def test_an_answer_that_fails_is_data(studio: Studio, agent: Create) -> None:
    await two(agent)
    run = await studio.run(
        f"[[calls: {ask('two', '[[error: 400]]')}]] [[text: Anyway.]]", agent="one"
    )
    assert run.output == "Anyway."
    assert (await call_of(run)).result.startswith("two: (failed:")  # type: ignore[union-attr]


async def test_who_cancels_the_asker_cancels_the_answer(studio: Studio, agent: Create) -> None:
    await two(agent)
    run_id = await studio.start(f"[[calls: {ask('two', '[[hang: headers]]')}]]", agent="one")
    await happened(studio, run_id, CallWaiting)
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="enough"))
    child = await orm.run_in_thread(lambda: Run.objects.get(parent=run_id))
    for one in (run_id, child.pk):
        ended = await wait_for_end(one, studio.host.window)
        assert ended.status == RunStatus.CANCELLED


async def test_a_wrong_name_is_answered_with_the_right_one(studio: Studio, agent: Create) -> None:
    await two(agent)
    run = await studio.run(f"[[calls: {ask('riter', 'x')}]] [[text: Oh.]]", agent="one")
    assert run.output == "Oh."
    assert "did you mean writer?" in str((await call_of(run)).result)
    assert await orm.run_in_thread(lambda: not run.children.exists())


async def test_a_sub_agent_hands_nothing_on_but_may_tell(studio: Studio, agent: Create) -> None:
    def team() -> None:
        agent("two", tools=ALL)
        boss = agent("boss")
        boss.team.set(Agent.objects.filter(workspace=boss.workspace, name="two"))
        publish_agent(boss)

    await orm.run_in_thread(team)
    start = json.dumps({"to": "writer", "task": "x"})
    tell = json.dumps({"to": "orchestrator", "text": "I would ask the writer."})
    calls = f"{ask('writer', 'x')}, start_agent {start}, send_message {tell}, read_messages {{}}"
    task = json.dumps({"agent": "two", "task": f"[[calls: {calls}]] [[text: Alone.]]"})
    run = await studio.run(f"[[delegate: {task}]] [[text: Done.]]", agent="boss")
    child = await orm.run_in_thread(lambda: run.children.get())
    assert child.output == "Alone."
    results = [str((await call_of(child, f"1.{index}")).result) for index in range(4)]
    assert ["sub-agent cannot start" in result for result in results] == [
        *(True, True, False, False),
    ]
    assert "Sent to agent:boss" in results[2]
    assert results[3] == "Your inbox is empty."
    assert await orm.run_in_thread(lambda: not child.children.exists())


def test_a_worker_that_dies_before_it_waits_asks_once(unserved: Workspace, writes: Writes) -> None:
    sender = writes("writer")
    first, second = (
        ask_agent(sender, "analyst", "Why?", timeout_seconds=60, key="the call's") for _ in range(2)
    )
    assert first == second, "the same run is asked for, under the same id"
    request = Message.objects.get(workspace=unserved)
    assert first.children[0].run_id == request.run_id
