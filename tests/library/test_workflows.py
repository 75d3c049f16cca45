"""Workflows built in Python: run, chatted with and delegated to by the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Run
from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.executor import executor
from heartbit_site.base.errors import ConfigurationError
from heartbit_site.library import LanguageModel

if TYPE_CHECKING:
    from heartbit_site.library import Heartbit


@executor(effect="pure")
def double_it(message: dict[str, Any]) -> int:
    return int(message["n"]) * 2


@executor(effect="pure")
def shout(message: str) -> str:
    return f"{message.upper()}!"


def doubles() -> Workflow:
    return Workflow("doubles", input={"type": "object"}).start(double_it)


def test_it_gets_data_and_returns_data(heartbit: Heartbit) -> None:
    result = heartbit.workflow(doubles()).run({"n": 21})
    assert (result.status, result.structured) == ("succeeded", 42), result.error
    row = Run.objects.select_related("version__agent").get(pk=result.run_id)
    assert (row.kind, row.version.agent.origin != "") == ("workflow", True)


async def test_it_runs_the_builders_agents_and_is_talked_with(heartbit: Heartbit) -> None:
    flow = Workflow("says").start("scribe").agent("scribe").edge("scribe", shout)
    team = heartbit.agent("scribe", "You write.").workflow(flow, leads=True)
    result = await team.arun("[[text: hello]]")
    assert (result.text, result.error) == ("HELLO!", "")
    thread = team.conversation()
    assert [(await thread.asay(f"[[text: {word}]]")).text for word in "ab"] == ["A!", "B!"]


def test_an_orchestrator_delegates_to_it(heartbit: Heartbit) -> None:
    flow = Workflow("doubles", input={"type": "object"}, description="Doubles n.").start(double_it)
    team = heartbit.agent("scribe", "You write.").workflow(flow)
    result = team.run('[[calls: workflow-doubles {"n": 4}]] [[text: Done.]]')
    assert result.text == "Done.", result.error
    said = [event.data.content for event in result.events if event.type == "tool.finished"]
    assert said == ["8"]


def test_what_cannot_be_is_refused(heartbit: Heartbit) -> None:
    with pytest.raises(ConfigurationError, match="already exists"):
        heartbit.workflow(doubles()).workflow(doubles())
    with pytest.raises(ConfigurationError, match="set its output instead"):
        heartbit.workflow(doubles()).response_schema({"type": "object"}).run({"n": 1})
    lost = Workflow("lost").start("nobody").agent("nobody")
    with pytest.raises(ConfigurationError, match=r"Workflow 'lost': .* names \"nobody\""):
        heartbit.workflow(lost).run("x")


def says(name: str = "says") -> Workflow:
    """A workflow that shouts what its own agent says."""
    flow = Workflow(name, description="Shouts.").start("scribe").agent("scribe")
    return flow.edge("scribe", shout)


def test_as_an_agent_it_is_talked_with_and_stands_in_a_team(heartbit: Heartbit) -> None:
    agent = heartbit.agent("scribe", "You write.").workflow(says(), leads=True).as_agent()
    assert agent.conversation().say("[[text: hello]]").text == "HELLO!"
    team = heartbit.agent("writer", "You write.").members(agent)
    task = 'Say it. [[calls: workflow-says {"task": "[[text: owls]]"}]] [[text: Done.]]'
    result = team.run(task)
    assert result.text == "Done.", result.error
    said = [event.data.content for event in result.events if event.type == "tool.finished"]
    assert said == ["OWLS!"]
    lead = Run.objects.select_related("version").get(pk=result.run_id).version
    assert lead.member_names == ["says", "writer"], "its own agent is only the workflow's"
    assert heartbit.members(agent).run("[[text: alone]]").text == "ALONE!"


def test_two_workflows_share_an_agent_and_get_an_orchestrator(heartbit: Heartbit) -> None:
    scribe = heartbit.agent("scribe", "You write.")
    one, other = (scribe.workflow(says(name), leads=True) for name in ("one", "other"))
    calls = ", ".join(
        f'workflow-{name} {{"task": "[[text: {name}]]"}}' for name in ("one", "other")
    )
    result = heartbit.members(one, other).run(f"[[calls: {calls}]] [[text: Both.]]")
    assert result.text == "Both.", result.error
    said = [event.data.content for event in result.events if event.type == "tool.finished"]
    assert sorted(said) == ["ONE!", "OTHER!"]


def test_a_model_is_an_agent_and_keeps_its_model_in_a_team(heartbit: Heartbit) -> None:
    poet = LanguageModel("openai:poet").as_agent(
        "poet", "You rhyme.", description="Rhymes.", max_turns=3
    )
    agent = heartbit.members(poet)
    alone = agent.run("[[text: Owls howl.]]")
    assert (alone.text, alone.error) == ("Owls howl.", "")
    team = agent.members(heartbit.agent("scribe", "You write."))
    tasks = '{"agent": "poet", "task": "[[text: a]]"}, {"agent": "scribe", "task": "[[text: b]]"}'
    result = team.run(f"[[delegate: {tasks}]] [[text: Done.]]")
    assert result.text == "Done.", result.error
    children = Run.objects.filter(parent=result.run_id).order_by("agent")
    assert [(run.agent, run.model) for run in children] == [
        ("poet", "openai:poet"),
        ("scribe", "openai:fake"),
    ]


def test_what_cannot_be_a_member_is_refused(heartbit: Heartbit) -> None:
    two = heartbit.agent("a", "A.").agent("b", "B.")
    with pytest.raises(ConfigurationError, match="members do not delegate"):
        two.as_agent()
    with pytest.raises(ConfigurationError, match="members do not delegate"):
        heartbit.members(heartbit.agent("a", "A.").orchestrator("Lead."))
    with pytest.raises(ConfigurationError, match="'a' already exists"):
        two.members(heartbit.agent("a", "A."))
    with pytest.raises(ConfigurationError, match="Name the model of the provider 'openai:'"):
        heartbit.provider("openai").agent("a", "A.").as_agent()
    with pytest.raises(ConfigurationError, match="Agent 'a': model"):
        LanguageModel("gpt").as_agent("a", "A.")
    shared = heartbit.agent("scribe", "You write.").workflow(says(), leads=True)
    with pytest.raises(ConfigurationError, match="'scribe' already exists"):
        heartbit.agent("scribe", "You draw.").members(shared)
