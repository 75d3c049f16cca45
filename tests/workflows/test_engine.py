"""A workflow's run, in process: nodes as calls, supersteps as commits."""

from __future__ import annotations

import asyncio
import functools
import json
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from agents.actions.fork_run import Edits, fork_run
from agents.actions.runs import cancel_run
from agents.actions.save_agent import change_agent, create_agent
from agents.actions.waits import answer_wait
from agents.choices import Placement, RunStatus
from agents.errors import CallClosedError, InvalidEditError
from agents.live.follow import wait_for_end
from agents.live.tree_view import TreeView
from agents.live.updates import EventUpdate, seen
from agents.models import Checkpoint, Run, RunEvent, Wait
from agents.runs.history import load_history
from agents.runtime.execution import workflow_complaints, workflows
from agents.workflows.builder.state_keys import add
from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.context import Context
from agents.workflows.executors.executor import executor
from agents.workflows.executors.registry import ExecutorRegistry
from agents.workflows.spec.workflow import WorkflowSpec
from heartbit_site.base import orm
from heartbit_site.base.audit import SYSTEM
from heartbit_site.config.errors import ConfigFileError
from heartbit_site.config.read import parse

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

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
    assert 'The node "sum" failed: ' in str(run.error)
    run = await studio.run("go", agent="handles", model="")
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert str(run.output).startswith("sum: ")


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


tries: list[int] = []


@executor(effect="pure", retry=2)
def grade(draft: dict[str, Any], context: Context) -> dict[str, Any]:
    context.add("rounds", 1)
    return {**draft, "score": context.get("rounds") + 1}


@executor(effect="at_most_once")
async def publish_it(draft: dict[str, Any]) -> str:
    return f"published {draft['score']}"


@executor(effect="pure", retry=1)
def moody(text: str, context: Context) -> str:
    tries.append(context.attempt)
    if context.attempt == 1:
        raise ValueError("not today")
    return f"{text} after {context.previous_errors[0].message}"


async def test_functions_loop_until_a_condition_holds(studio: Studio) -> None:
    review = (
        Workflow("review", input={"type": "object"})
        .state(rounds=add(0))
        .start(grade)
        .switch(grade, ("message.score >= 3", publish_it), default=grade)
    )

    def make() -> None:
        create_agent(studio.workspace, review.spec, by=SYSTEM)

    await orm.run_in_thread(make)
    run = await studio.run('{"text": "x"}', agent="review", model="")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "published 3"), run.error
    types = [event.type for event in await studio.events(run)]
    assert types.count("tool.started") == 1, "only the effect has an intent"


async def test_an_error_is_tried_again_with_what_went_wrong(studio: Studio) -> None:
    def make() -> None:
        create_agent(studio.workspace, Workflow("mood").start(moody).spec, by=SYSTEM)

    await orm.run_in_thread(make)
    run = await studio.run("fine", agent="mood", model="")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "fine after not today"), run.error
    assert tries == [1, 2]


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions of this module are those of an app."""
    registry = ExecutorRegistry()
    registry.add_all([grade, publish_it, moody, Clerk, has_digits])
    for module in (workflows, workflow_complaints):
        monkeypatch.setattr(module, "installed_executors", lambda: registry)


async def test_a_question_holds_up_nobody_and_its_answer_is_routed(studio: Studio) -> None:
    def make() -> None:
        publish(
            studio.workspace,
            name="asks",
            state={"n": {"merge": "add", "initial": 0}},
            nodes={
                "ask": {"ask": "Publish {{ input }}?", "form": {"type": "boolean"}},
                "up": {"set": {"n": 1}},
            },
            start=["ask", "up"],
            edges=[
                {"from": "up", "to": "up", "when": "state.n < 3"},
                {"from": "up", "output": "{{ state.n }}", "when": "state.n >= 3"},
                {"from": "ask", "output": "{{ 'yes' if message else 'no' }}"},
            ],
        )

    await orm.run_in_thread(make)
    run_id = await studio.start("it", agent="asks", model="")

    def waiting() -> Wait | None:
        run = Run.objects.get(pk=run_id)
        if run.status != RunStatus.WAITING:
            return None
        return Wait.objects.get(run=run, resolved_at=None)

    wait = None
    while wait is None:
        wait = await orm.run_in_thread(waiting)
    events = await orm.run_in_thread(lambda: list(RunEvent.objects.filter(run=run_id)))
    assert [event.type for event in events].count("graph.committed") == 4, "the others went on"
    await orm.run_in_thread(lambda: answer_wait(wait, answer=True, by=SYSTEM))
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.structured) == (RunStatus.SUCCEEDED, [3, "yes"]), run.error


async def test_it_is_forked_after_a_superstep_whose_nodes_are_not_repeated(studio: Studio) -> None:
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

    await orm.run_in_thread(make)
    run = await studio.run("a", agent="count", model="")
    assert run.structured == ["a"] * 4
    made = await orm.run_in_thread(lambda: fork_run(run, 2, by=SYSTEM, home=Placement.LOCAL))
    studio.host.execute(made.run_id)
    forked = await wait_for_end(made.run_id, studio.host.window)
    assert (forked.status, forked.structured) == (RunStatus.SUCCEEDED, ["a"] * 4), forked.error
    calls = await orm.run_in_thread(
        lambda: list(forked.calls.order_by("pk").values_list("call_id", "tool", "status"))
    )
    assert calls == [(f"{step}.0", "up", "ok") for step in range(4)]
    assert [event.type for event in await studio.events(forked)].count("node.finished") == 4

    def edited(turn: int = 2, **state: Any) -> UUID:
        edits = Edits(state=state)
        return fork_run(run, turn, edits=edits, by=SYSTEM, home=Placement.LOCAL).run_id

    for given, said in (({"m": 1}, 'no "m"; it has: n'), ({"turn": 0, "n": []}, "superstep")):
        with pytest.raises(InvalidEditError, match=said):
            await orm.run_in_thread(functools.partial(edited, **given))
    run_id = await orm.run_in_thread(lambda: edited(n=["b\0"]))
    studio.host.execute(run_id)
    forked = await wait_for_end(run_id, studio.host.window)
    assert forked.structured == ["b\ufffd", "a", "a", "a"], forked.error


async def test_a_cancelled_run_cancels_the_children_of_its_nodes(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def make() -> None:
        agent("slow")
        steps = {"call": {"agent": "slow", "task": "[[latency: 20000]] {{ input }}"}}
        publish(studio.workspace, name="waits", steps=steps)

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="waits")
    while not await orm.run_in_thread(
        lambda: Run.objects.filter(parent=run_id, status=RunStatus.RUNNING).exists()
    ):
        await asyncio.sleep(0.02)
    await orm.run_in_thread(lambda: cancel_run(studio.workspace, run_id, reason="enough"))
    run = await wait_for_end(run_id, studio.host.window)
    child = await orm.run_in_thread(lambda: run.children.get())
    ended = await wait_for_end(child.pk, studio.host.window)
    assert (run.status, ended.status) == (RunStatus.CANCELLED, RunStatus.CANCELLED)


async def test_its_view_shows_supersteps_with_the_calls_of_their_nodes(studio: Studio) -> None:
    def make() -> None:
        broken = {"tool": "calculate", "arguments": {"expression": "1/0"}, "on_error": "continue"}
        steps = {"sum": broken, "say": {"set": {}, "needs": ["sum"]}}
        publish(studio.workspace, name="shows", steps=steps)

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="shows", model="")
    tree = TreeView()
    tree.apply(seen(run))
    for recorded in (await orm.run_in_thread(lambda: load_history(run))).journal:
        tree.apply(EventUpdate(run.pk, recorded))
    parts = tree.runs[run.pk].snapshot()
    assert [parts[name]["calls"] for name in ("turn 0", "turn 1")] == [["0.0"], ["1.0"]]
    calls = [parts[f"call {step}.0"] for step in (0, 1)]
    assert [(call["tool"], call["status"]) for call in calls] == [("sum", "error"), ("say", "ok")]
    assert "division by zero" in calls[0]["result"].lower()


def test_all_faults_of_a_file_are_named_at_their_place(workspace: Workspace) -> None:
    text = """
[[agents]]
name = "scribe"
description = "Writes."
system_prompt = "Write."

[[workflows]]
name = "digest"
[workflows.steps.find]
agent = "scrib"
task = "{{ input.topic }}"
[workflows.steps.count]
needs = ["find"]
function = "gradee"
[workflows.steps.write]
needs = ["find"]
agent = "scribe"
task = "{{ steps.fnd.output }}"
"""
    with pytest.raises(ConfigFileError) as refused:
        parse(text)
    found = {(one.line, one.message) for one in refused.value.problems}
    for line, name in ((10, "scrib"), (14, "gradee"), (18, "fnd")):
        assert any(at == line and name in said for at, said in found), found


def is_live(run: Run, at: datetime) -> bool:
    return run.created_at <= at and (run.finished_at is None or at < run.finished_at)


async def test_no_more_entries_run_at_once_than_the_node_allows(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def make() -> None:
        agent("scribe")
        task = "[[latency: 60]] [[text: {{ item }}!]]"
        one = {"each": "input.urls", "agent": "scribe", "task": task, "max_parallel": 2}
        publish(studio.workspace, name="window", steps={"one": one})

    await orm.run_in_thread(make)
    run = await studio.run(json.dumps({"urls": list("abcdefg")}), agent="window")
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert run.structured == [f"{letter}!" for letter in "abcdefg"]
    children = await orm.run_in_thread(lambda: list(run.children.all()))
    assert max(sum(is_live(one, other.created_at) for one in children) for other in children) == 2


async def test_workflows_that_run_each_other_end(studio: Studio) -> None:
    def make() -> None:
        publish(studio.workspace, name="ping", steps={"a": {"set": {}}})
        publish(studio.workspace, name="pong", steps={"a": {"workflow": "ping"}})
        back = WorkflowSpec.model_validate({"name": "ping", "steps": {"a": {"workflow": "pong"}}})
        settings = ("nodes", "edges", "start", "order", "team")
        change_agent(studio.workspace, "ping", back, settings, by=SYSTEM)

    await orm.run_in_thread(make)
    run = await studio.run("x", agent="ping", model="")
    assert run.status == RunStatus.FAILED
    assert "nested more than 8 deep" in str(run.error)
    tree = await orm.run_in_thread(lambda: Run.objects.filter(root=run).count())
    assert tree == 10


async def test_a_long_run_continues_from_its_checkpoint(studio: Studio) -> None:
    def make() -> None:
        publish(
            studio.workspace,
            name="long",
            state={"n": {"merge": "add", "initial": 0}},
            nodes={"up": {"set": {"n": 1}}, "ask": {"ask": "Enough?"}, "down": {"set": {"n": 1}}},
            start="up",
            edges=[
                {"from": "up", "cases": [{"when": "state.n < 120", "to": "up"}], "default": "ask"},
                {"from": "ask", "to": "down"},
                {"from": "down", "output": "{{ state.n }} {{ steps.ask.output }}"},
            ],
        )

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="long", model="")
    wait = None
    while wait is None:
        wait = await orm.run_in_thread(
            lambda: Wait.objects.filter(run=run_id, resolved_at=None, run__status="waiting").first()
        )
    while not await orm.run_in_thread(lambda: Checkpoint.objects.filter(run=run_id).exists()):
        await asyncio.sleep(0.02)
    await orm.run_in_thread(lambda: answer_wait(wait, answer="yes", by=SYSTEM))
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "121 yes"), run.error


async def test_functions_have_a_window_too(studio: Studio) -> None:
    def make() -> None:
        one = {"each": "input.words", "set": {}, "max_parallel": 2}
        publish(studio.workspace, name="words", steps={"one": one})

    await orm.run_in_thread(make)
    run = await studio.run('{"words": ["a", "b", "c", "d", "e"]}', agent="words", model="")
    assert (run.status, run.structured) == (RunStatus.SUCCEEDED, list("abcde")), run.error


@pytest.mark.parametrize("end", [[], [{"from": "say", "output": "{{ message }}"}]])
async def test_a_fan_in_for_any_cancels_the_others(
    studio: Studio, agent: Callable[..., Agent], end: list[dict[str, Any]]
) -> None:
    def make() -> None:
        agent("scribe")
        publish(
            studio.workspace,
            name="race",
            order="barrier",
            nodes={
                "fast": {"ask": "Go?"},
                "slow": {"ask": "Or go?"},
                "say": {"set": {}},
            },
            start=["fast", "slow"],
            edges=[{"from": ["fast", "slow"], "to": "say", "wait": "any"}, *end],
        )

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="race", model="")
    waits: list[Wait] = []
    while len(waits) < 2:
        waits = await orm.run_in_thread(
            lambda: list(Wait.objects.filter(run=run_id, run__status="waiting").order_by("pk"))
        )
    await orm.run_in_thread(lambda: answer_wait(waits[0], answer="yes", by=SYSTEM))
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "yes"), run.error
    late = await orm.run_in_thread(lambda: Wait.objects.get(pk=waits[1].pk))
    assert late.value == {"status": "void"}
    calls = await orm.run_in_thread(lambda: list(run.calls.order_by("pk").values_list("status")))
    assert calls == [("ok",), ("cancelled",), ("ok",)]
    with pytest.raises(CallClosedError):
        await orm.run_in_thread(lambda: answer_wait(waits[1], answer="no", by=SYSTEM))


@executor(effect="pure")
class Clerk:
    """Asks once, and remembers for what."""

    def run(self, word: str, context: Context) -> None:
        context.ask(f"May {word}?", form={"type": "boolean"}, state={"word": word})

    def reply(self, answer: bool, context: Context) -> str:  # noqa: FBT001
        return f"{context.question_state['word']}: {answer}"


@executor(effect="pure", retry=3)
def has_digits(word: str) -> list[str]:
    return [] if any(letter.isdigit() for letter in word) else ["it has no digit"]


async def open_waits(run_id: UUID, number: int) -> list[Wait]:
    """Return the open waits of a run once it waits for so many."""
    waits: list[Wait] = []
    while len(waits) < number:
        waits = await orm.run_in_thread(
            lambda: list(
                Wait.objects.filter(
                    run=run_id, resolved_at=None, run__status=RunStatus.WAITING
                ).order_by("pk")
            )
        )
    return waits


async def test_each_answer_comes_with_what_its_question_was_for(studio: Studio) -> None:
    graph = (
        Workflow("clerks")
        .set("a", {})
        .set("b", {})
        .start("a", "b")
        .edge("a", Clerk, message="anna")
        .edge("b", Clerk, message="ben")
    )

    def make() -> None:
        create_agent(studio.workspace, graph.spec, by=SYSTEM)

    await orm.run_in_thread(make)
    run_id = await studio.start("x", agent="clerks", model="")
    first, second = await open_waits(run_id, 2)
    await orm.run_in_thread(lambda: answer_wait(second, answer=False, by=SYSTEM))
    await orm.run_in_thread(lambda: answer_wait(first, answer=True, by=SYSTEM))
    run = await wait_for_end(run_id, studio.host.window)
    assert run.status == RunStatus.SUCCEEDED, run.error
    assert isinstance(run.structured, list)
    assert sorted(run.structured) == ["anna: True", "ben: False"]


async def test_a_question_expires_with_a_rendered_value(studio: Studio) -> None:
    def make() -> None:
        ask = {"ask": "Go?", "timeout": 0.2, "on_timeout": "{{ input }} instead"}
        publish(studio.workspace, name="hasty", steps={"go": ask})

    await orm.run_in_thread(make)
    run_id = await studio.start("stay", agent="hasty", model="")
    run = await wait_for_end(run_id, studio.host.window)
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "stay instead"), run.error


async def test_the_first_failure_ends_a_run_that_waits_for_others(
    studio: Studio, agent: Callable[..., Agent]
) -> None:
    def make() -> None:
        agent("scribe")
        nodes = {
            "bad": {"agent": "scribe", "task": "[[error: 400]] Fail."},
            "slow": {"agent": "scribe", "task": "[[latency: 20000]] Wait."},
        }
        publish(studio.workspace, name="fast", order="barrier", nodes=nodes, start=["bad", "slow"])

    await orm.run_in_thread(make)
    began = time.monotonic()
    run = await studio.run("x", agent="fast")
    assert (run.status, time.monotonic() - began < 15) == (RunStatus.FAILED, True)
    assert 'The node "bad" failed' in str(run.error)
    statuses = await orm.run_in_thread(lambda: {child.status for child in run.children.all()})
    assert RunStatus.SUCCEEDED not in statuses


async def test_a_validator_passes_its_message_on_or_names_what_is_wrong(studio: Studio) -> None:
    graph = Workflow("checks").node("check", validator="has_digits").start("check")

    def make() -> None:
        create_agent(studio.workspace, graph.spec, by=SYSTEM)

    await orm.run_in_thread(make)
    run = await studio.run("room 7", agent="checks", model="")
    assert (run.status, run.output) == (RunStatus.SUCCEEDED, "room 7"), run.error
    run = await studio.run("room", agent="checks", model="")
    assert "it has no digit" in str(run.error)
    tries = [event for event in await studio.events(run) if event.type == "node.finished"]
    assert len(tries) == 4
