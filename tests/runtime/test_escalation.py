"""A stronger model takes over once two answers in a row did not do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from agents.definitions import snapshot
from agents.journal.events import ModelAnswered, RecordedEvent, RunCreated, decode
from agents.llm.messages import AssistantMessage, Usage, UserMessage
from agents.loop import empty_answers
from agents.loop.agent_state import AgentState
from agents.models import Agent, Run
from heartbit_site.base import orm
from heartbit_site.base.models import UsageEntry

if TYPE_CHECKING:
    from tests.runtime.conftest import Studio

Create = Callable[..., Agent]

SNAPSHOT: dict[str, Any] = {
    "format": snapshot.FORMAT,
    "system_prompt": "",
    "model": "",
    "temperature": None,
    "tools": [],
    "team": [],
    "strong_model": "openai:strong",
    "limits": dict.fromkeys(
        (
            *("max_turns", "max_tokens", "timeout_seconds", "tool_timeout_seconds"),
            *("max_tool_output_bytes", "max_parallel", "delegation_timeout_seconds"),
        ),
        10,
    ),
}
WEAK, STRONG = "openai:weak", "openai:strong"
WRONG = 'calculate {"nope": 1}'
SUM = 'calculate {"expression": "1+1"}'


async def models(studio: Studio, run: Run) -> list[str]:
    """Who answered, turn by turn."""
    events = await studio.events(run)
    return [event.payload["model"] for event in events if event.type == "model.answered"]


async def test_given_two_turns_of_invalid_calls_then_the_strong_model_goes_on_to_the_end(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), strong_model=STRONG, model=WEAK))
    task = f"[[calls: {WRONG}]] [[then: no_such_tool {{}}]] [[then: {SUM}]] [[text: Two.]]"
    run = await studio.run(task, model="")
    assert run.output == "Two."
    assert await models(studio, run) == [WEAK, WEAK, STRONG, STRONG]
    entries = await orm.run_in_thread(
        lambda: list(UsageEntry.objects.filter(run_id=run.pk).order_by("turn"))
    )
    assert [entry.model for entry in entries] == [WEAK, WEAK, STRONG, STRONG]


async def test_given_a_journal_that_is_folded_again_then_the_same_is_decided(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), strong_model=STRONG, model=WEAK))
    task = f"[[calls: {WRONG}]] [[then: {WRONG}]] [[text: Done.]]"
    run = await studio.run(task, model="")
    state, escalated = AgentState(), []
    for event in await studio.events(run):
        state.fold(RecordedEvent(event.seq, event.at, decode(event.type, event.payload)))
        if event.type == "tool.finished":
            escalated.append(state.escalated)
    assert escalated == [False, True]
    assert (await models(studio, run))[-1] == STRONG


async def test_given_a_good_answer_between_then_the_own_model_stays(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(tools=("calculate",), strong_model=STRONG, model=WEAK))
    task = f"[[calls: {WRONG}]] [[then: {SUM}]] [[then: {WRONG}, {SUM}]] [[text: Done.]]"
    run = await studio.run(task, model="")
    assert await models(studio, run) == [WEAK] * 4


async def test_given_an_answer_of_a_wrong_form_then_the_strong_one_is_asked_for_it(
    studio: Studio, agent: Create
) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    await orm.run_in_thread(lambda: agent(response_schema=schema, strong_model=STRONG, model=WEAK))
    run = await studio.run("[[text: No JSON at all.]]", model="")
    assert await models(studio, run) == [WEAK, WEAK, STRONG, STRONG]
    assert (run.error or {})["kind"] == "output"


async def test_given_an_empty_answer_then_the_run_is_asked_on_instead_of_ended(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(lambda: agent(strong_model=STRONG, model=WEAK))
    run = await studio.run("[[tokens: 0]]", model="")
    assert (run.output or "").startswith("Hello"), "it answers the question that came after"
    assert await models(studio, run) == [WEAK, WEAK]


def test_given_nothing_but_silence_then_the_strong_one_s_is_the_last() -> None:
    definition = snapshot.read(1, 1, "solo", SNAPSHOT)
    state, silence_ = AgentState(), AssistantMessage(" ")
    now = datetime.now(tz=UTC)
    state.fold(RecordedEvent(1, now, RunCreated("Speak.", "solo")))
    goes_on = []
    for turn in (1, 2, 3):
        answer = ModelAnswered(turn, silence_, Usage(), "stop", WEAK, seen=turn)
        state.fold(RecordedEvent(turn + 1, now, answer))
        goes_on.append((state.escalated, empty_answers.should_retry(definition, state)))
    assert goes_on == [(False, True), (True, True), (True, False)]
    asked = empty_answers.retry_conversation(state.messages)
    assert asked == (UserMessage("Speak."), UserMessage(empty_answers.ANSWER))


async def test_given_a_strong_model_without_a_key_then_the_own_one_stays(
    studio: Studio, agent: Create
) -> None:
    await orm.run_in_thread(
        lambda: agent(tools=("calculate",), strong_model="mistral:large", model=WEAK)
    )
    task = f"[[calls: {WRONG}]] [[then: {WRONG}]] [[text: Done.]]"
    run = await studio.run(task, model="")
    assert (run.output, (await models(studio, run))[-1]) == ("Done.", WEAK)
