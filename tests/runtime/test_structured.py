"""Answers that have to fit a schema: asked for, checked, mended, and stored beside the text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from agents.actions.publish_agent import publish_agent
from agents.choices import Placement, RunStatus
from agents.definitions.definition import AgentDefinition
from agents.journal.events import (
    Event,
    ModelAnswered,
    RecordedEvent,
    RunCreated,
    RunSteered,
    ToolFinished,
)
from agents.live.follow import wait_for_end
from agents.llm.messages import AssistantMessage, ToolCall, Usage
from agents.loop.agent_state import AgentState
from agents.loop.limits import MAX_ANSWERS, Limits
from agents.models import Agent, BlackboardEntry, Run
from agents.output import respond
from agents.output.payload import parse
from agents.reads.outcome import result_of
from heartbit_site.base import orm
from tests.starts import start_run

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
    await orm.run_in_thread(lambda: agent(response_schema=CITY, tools=("calculate",)))


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
    call = await orm.run_in_thread(lambda: run.calls.get())
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
    first, second = await orm.run_in_thread(lambda: list(run.calls.order_by("id")))
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
    statuses = await orm.run_in_thread(
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

    await orm.run_in_thread(team)
    inner = '[[calls: __respond__ {\\"city\\": \\"Bonn\\", \\"people\\": 1}]]'
    run = await studio.run(
        f'[[delegate: {{"agent": "helper", "task": "{inner}"}}]] [[text: Led.]]', agent="boss"
    )
    assert run.output == "Led."
    entry = await orm.run_in_thread(lambda: BlackboardEntry.objects.get(root=run))
    assert entry.value == {"city": "Bonn", "people": 1}
    child = await orm.run_in_thread(lambda: Run.objects.get(parent=run))
    assert child.structured == {"city": "Bonn", "people": 1}


async def test_the_result_form_has_data_artifacts_and_what_it_took(
    studio: Studio, surveyor: None
) -> None:
    run = await studio.run(GOOD)
    result = await orm.run_in_thread(lambda: result_of(run))
    assert (result.status, result.data, result.error) == ("success", run.structured, None)
    assert [artifact.kind for artifact in result.artifacts] == ["data"]
    assert (result.metrics.model_calls, result.metrics.tool_calls) == (1, 1)
    assert result.metrics.output_tokens == run.output_tokens
    assert result.metrics.duration_ms > 0
    assert result.metrics.cost_usd is None, "nobody knows the price of a fake model"


async def test_a_task_in_its_long_form_is_what_the_model_reads(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(agent)
    payload = parse({"action": "review", "spec": "The module. [[text: Reviewed.]]"})
    run_id = await orm.run_in_thread(
        lambda: start_run(
            studio.workspace,
            "",
            agent="solo",
            model="openai:fake",
            home=Placement.LOCAL,
            payload=payload,
        )
    )
    studio.host.execute(run_id)
    run = await wait_for_end(run_id, studio.host.window)
    assert run.output == "Reviewed."
    assert run.payload is not None
    assert run.payload["action"] == "review"
    assert "review" in run.task


class TestSteering:
    """What people say while a structured agent works; pure, so the turns come as they are told."""

    @pytest.fixture
    def definition(self) -> AgentDefinition:
        return AgentDefinition(
            version_id=1,
            agent_id=1,
            name="surveyor",
            system_prompt="p",
            model="",
            temperature=None,
            tools=(),
            team=(),
            max_turns=3,
            max_tokens=100,
            timeout_seconds=60,
            tool_timeout_seconds=5,
            max_tool_output_bytes=1_000,
            max_parallel=1,
            delegation_timeout_seconds=5,
            response_schema=CITY,
        )

    @staticmethod
    def fold(state: AgentState, *events: Event) -> None:
        for event in events:
            state.fold(RecordedEvent(state.folded_seq + 1, datetime.now(UTC), event))

    def answered(self, state: AgentState, *, seen: int) -> None:
        """The model tries to end the run, in vain."""
        turn = state.turn + 1
        call = ToolCall("c", respond.NAME, "{}")
        answer = ModelAnswered(turn, AssistantMessage("", (call,)), Usage(), "stop", "m", seen=seen)
        self.fold(state, answer, ToolFinished(f"{turn}.0", "refused", "More was said."))

    def test_an_answer_that_did_not_know_of_it_is_no_failed_one_and_tools_stay(
        self, definition: AgentDefinition
    ) -> None:
        state = AgentState()
        self.fold(state, RunCreated("Survey.", "surveyor"))
        for _ in range(2 * MAX_ANSWERS):
            before = state.folded_seq
            self.fold(state, RunSteered("Also look up X.", "ben"))
            self.answered(state, seen=before)
            assert state.answers == 0, "tools are offered as long as there was none"
            assert Limits(definition, state).reached() is None

    def test_an_agents_word_gives_neither_turns_nor_tries(
        self, definition: AgentDefinition
    ) -> None:
        state = AgentState()
        self.fold(state, RunCreated("Survey.", "surveyor"))
        loose = definition.model_copy(update={"max_turns": 50})
        for tries in range(1, MAX_ANSWERS + 1):
            assert Limits(loose, state).reached() is None
            self.fold(state, RunSteered("Pong.", "agent:ben", "agent"))
            self.answered(state, seen=state.folded_seq)
            assert state.answers == tries
        reached = Limits(loose, state).reached()
        assert reached is not None
        assert reached.kind == "output"

    def test_an_answer_that_did_not_know_of_an_agents_word_is_a_turn_and_no_failed_try(
        self, definition: AgentDefinition
    ) -> None:
        state = AgentState()
        self.fold(state, RunCreated("Survey.", "surveyor"))
        for turn in range(definition.max_turns):
            assert Limits(definition, state).reached() is None
            before = state.folded_seq
            self.fold(state, RunSteered("Pong.", "agent:ben", "agent"))
            self.answered(state, seen=before)
            assert (state.turn, state.answers) == (turn + 1, 0)
        reached = Limits(definition, state).reached()
        assert reached is not None
        assert reached.limit == "max_turns"

    def test_without_it_failed_answers_count(self, definition: AgentDefinition) -> None:
        state = AgentState()
        self.fold(state, RunCreated("Survey.", "surveyor"))
        loose = definition.model_copy(update={"max_turns": 50})
        for tries in range(1, MAX_ANSWERS + 1):
            assert Limits(loose, state).reached() is None
            self.answered(state, seen=state.folded_seq)
            assert state.answers == tries
        reached = Limits(loose, state).reached()
        assert reached is not None
        assert reached.kind == "output"

    @pytest.mark.parametrize("meanwhile", [False, True])
    def test_turns_are_counted_from_the_last_message(
        self, definition: AgentDefinition, *, meanwhile: bool
    ) -> None:
        """Also when it was said during an answer, which could not know of it."""
        state = AgentState()
        self.fold(state, RunCreated("Survey.", "surveyor"))
        free = definition.model_copy(update={"response_schema": None})
        self.answered(state, seen=state.folded_seq)
        before = state.folded_seq
        self.fold(state, RunSteered("Also look up X.", "ben"))
        if meanwhile:
            self.answered(state, seen=before)
        for _ in range(free.max_turns):
            assert Limits(free, state).reached() is None
            self.answered(state, seen=state.folded_seq)
        reached = Limits(free, state).reached()
        assert reached is not None
        assert reached.limit == "max_turns"
