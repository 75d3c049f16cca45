"""Workflows built in Python: run, chatted with and delegated to by the library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agents.models import Run
from agents.workflows.builder.workflow import Workflow
from agents.workflows.executors.executor import executor
from heartbit_site.base.errors import ConfigurationError

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
