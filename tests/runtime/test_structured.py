"""Answers that have to fit a schema: asked for, checked, mended, and stored beside the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.choices import RunStatus
from agents.models import Agent, BlackboardEntry, Run
from heartbit_site.base import orm

if TYPE_CHECKING:
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}
GOOD = '[[calls: __respond__ {"city": "Bonn", "people": 330000}]]'


@pytest.fixture
async def surveyor(agent: Create) -> None:
    await orm.in_thread(lambda: agent(response_schema=CITY, tools=("calculate",)))


async def test_a_fitting_call_is_the_answer(studio: Studio, surveyor: None) -> None:
    run = await studio.run(GOOD)
    assert (run.status, run.structured) == (
        RunStatus.SUCCEEDED,
        {"city": "Bonn", "people": 330000},
    )
    assert '"city": "Bonn"' in (run.output or ""), "for those who only show text"
    assert [event.type for event in await studio.events(run)] == [
        "run.created",
        "run.started",
        "model.answered",
        "tool.finished",
        "run.succeeded",
    ]
    call = await orm.in_thread(lambda: run.calls.get())
    assert call.status == "ok"


async def test_tools_come_first(studio: Studio, surveyor: None) -> None:
    run = await studio.run(
        '[[calls: calculate {"expression": "300000+30000"}]]'
        ' [[then: __respond__ {"city": "Bonn", "people": 330000}]]'
    )
    assert run.structured == {"city": "Bonn", "people": 330000}


async def test_what_does_not_fit_is_sent_back_and_mended(studio: Studio, surveyor: None) -> None:
    run = await studio.run(
        '[[calls: __respond__ {"city": "Bonn", "people": "many"}]]'
        ' [[then: __respond__ {"city": "Bonn", "people": 330000}]]'
    )
    assert run.structured == {"city": "Bonn", "people": 330000}
    first, second = await orm.in_thread(lambda: list(run.calls.order_by("id")))
    assert (first.status, second.status) == ("invalid", "ok")
    assert "people" in (first.result or ""), "it says what to mend"


async def test_an_answer_beside_other_calls_has_to_come_again(
    studio: Studio, surveyor: None
) -> None:
    run = await studio.run(
        '[[calls: calculate {"expression": "1"}, __respond__ {"city": "Bonn", "people": 1}]]'
        ' [[then: __respond__ {"city": "Bonn", "people": 330000}]]'
    )
    assert run.structured == {"city": "Bonn", "people": 330000}
    statuses = await orm.in_thread(
        lambda: list(run.calls.order_by("id").values_list("tool", "status"))
    )
    assert statuses == [("calculate", "ok"), ("__respond__", "refused"), ("__respond__", "ok")]


async def test_words_that_are_the_json_will_do(studio: Studio, surveyor: None) -> None:
    run = await studio.run('[[text: ```json\n{"city": "Bonn", "people": 330000}\n```]]')
    assert run.structured == {"city": "Bonn", "people": 330000}


async def test_a_model_that_only_talks_is_asked_for_the_call_and_then_given_up(
    studio: Studio, surveyor: None
) -> None:
    run = await studio.run("[[text: Bonn is nice.]]")
    assert run.status == RunStatus.FAILED
    assert run.error is not None
    assert run.error["kind"] == "output"
    assert run.error["message"] == ("solo gave no answer that fits its response schema in 4 tries.")
    assert run.output, "what it said last is kept"
    assert run.structured is None


async def test_a_sub_agents_structure_reaches_its_orchestrator(
    studio: Studio, agent: Create
) -> None:
    def team() -> None:
        helper = agent("helper", response_schema=CITY)
        boss = agent("boss")
        boss.team.set([helper])
        publish_agent(boss)

    await orm.in_thread(team)
    inner = '[[calls: __respond__ {\\"city\\": \\"Bonn\\", \\"people\\": 1}]]'
    run = await studio.run(
        f'[[delegate: {{"agent": "helper", "task": "{inner}"}}]] [[text: Led.]]', agent="boss"
    )
    assert run.output == "Led."
    entry = await orm.in_thread(lambda: BlackboardEntry.objects.get(root=run))
    assert entry.value == {"city": "Bonn", "people": 1}
    child = await orm.in_thread(lambda: Run.objects.get(parent=run))
    assert child.structured == {"city": "Bonn", "people": 1}
