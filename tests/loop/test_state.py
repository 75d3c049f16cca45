"""The fold: pure, resumable anywhere, and a conversation without orphans."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Literal
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.journal.events import (
    ApprovalEscalated,
    ApprovalLapsed,
    ApprovalRequested,
    CallWaiting,
    CancelRequested,
    Event,
    ModelAnswered,
    ModelDelayed,
    RecordedEvent,
    RunCreated,
    RunForked,
    RunRequeued,
    RunStarted,
    RunSteered,
    ToolFinished,
    ToolStarted,
    WaitResolved,
    decode,
    encode,
)
from agents.llm.messages import AssistantMessage, ToolCall, ToolMessage, Usage, UserMessage
from agents.loop.agent_state import AgentState
from agents.loop.state import RunState

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
STARTED = RunStarted("host:1", "task", "openai:fake")
SOURCES: st.SearchStrategy[Literal["person", "agent"]] = st.sampled_from(["person", "agent"])


def answer(turn: int, calls: int, text: str = "") -> ModelAnswered:
    message = AssistantMessage(
        text=text, tool_calls=tuple(ToolCall(f"p{turn}.{n}", "tool", "{}") for n in range(calls))
    )
    return ModelAnswered(turn, message, Usage(input_tokens=2, output_tokens=1), "stop", "fake")


def approved(call: str, *, lapses: bool) -> list[Event]:
    """A call is asked about and approved; once more if the first word lapses."""
    asked = ApprovalRequested(call, "tool", {}, "pure", "0" * 64, "it is asked for")
    events: list[Event] = [asked, WaitResolved(asked.key, {"status": "approved"}), STARTED]
    if not lapses:
        return events
    again = replace(asked, question=2)
    lapsed = ApprovalLapsed(call, asked.key, "Ann may not decide any more.")
    return [*events, lapsed, again, WaitResolved(again.key, {"status": "approved"}), STARTED]


@st.composite
def journals(draw: st.DrawFn) -> list[Event]:
    """A journal as a run may write it: turns with calls, some waiting, slices that end anywhere."""
    events: list[Event] = [RunCreated("Do it.", "agent"), STARTED]
    for turn in range(1, draw(st.integers(1, 4)) + 1):
        calls = draw(st.integers(0, 3))
        seen = len(events)
        if draw(st.booleans()):
            seen = draw(st.integers(seen, seen + 1))
            events.append(RunSteered(f"steer {turn}", source=draw(SOURCES)))
        if draw(st.booleans()):
            key = f"timer:{turn}"
            events += [ModelDelayed(turn, key, "busy", 11.0), WaitResolved(key, {}), STARTED]
        text = draw(st.sampled_from(["", "thinking aloud"]))
        events.append(replace(answer(turn, calls, text), seen=seen))
        if calls == 0:
            return events
        for call in draw(st.permutations([f"{turn}.{n}" for n in range(calls)])):
            if draw(st.booleans()):
                events += approved(call, lapses=draw(st.booleans()))
            if draw(st.booleans()):
                events.append(ToolStarted(call, "at_most_once"))
            if draw(st.booleans()):
                events.append(CallWaiting(call, (f"child:{call}",)))
                events.append(WaitResolved(f"child:{call}", {"subject": "writer"}))
                events.append(STARTED)
            if draw(st.booleans()):
                events += [RunRequeued("worker lost"), STARTED]
            events.append(ToolFinished(call, "ok", call))
    return events


def recorded(events: list[Event]) -> list[RecordedEvent]:
    return [
        RecordedEvent(seq, EPOCH + timedelta(seconds=seq), event)
        for seq, event in enumerate(events, start=1)
    ]


def fold(events: list[RecordedEvent], state: AgentState | None = None) -> AgentState:
    state = state or AgentState()
    for event in events:
        state.fold(event)
    return state


@given(journals(), st.data())
def test_folding_in_two_parts_is_folding_at_once(events: list[Event], data: st.DataObject) -> None:
    rows = recorded(events)
    cut = data.draw(st.integers(0, len(rows)))
    assert fold(rows[cut:], fold(rows[:cut])) == fold(rows)


@given(journals(), st.data())
def test_no_prefix_has_an_orphan_call_or_result(events: list[Event], data: st.DataObject) -> None:
    rows = recorded(events)
    state = fold(rows[: data.draw(st.integers(0, len(rows)))])
    asked: list[str] = []
    for message in state.conversation:
        if isinstance(message, AssistantMessage):
            assert not asked, "a turn began before the last one's results"
            asked = [call.id for call in message.tool_calls]
        elif isinstance(message, ToolMessage):
            assert message.call_id == asked.pop(0)
    assert len(asked) == len(state.calls), "calls without a result are open, all of them together"


def test_given_a_decision_that_lapsed_then_nobody_has_decided_and_the_next_one_counts() -> None:
    begun: list[Event] = [RunCreated("Do it.", "a"), STARTED, answer(1, 1)]
    [*first, again, _, _] = approved("1.0", lapses=True)
    events = [*begun, *first]
    assert isinstance(again, ApprovalRequested)
    [call] = fold(recorded(events)).open_calls()
    assert (call.approval_request, call.lapsed_decisions) == (None, 1)
    state = fold(recorded([*events, again]))
    [call] = state.open_calls()
    assert state.decision(call.approval_request) is None, (
        "the first word does not decide the second question"
    )
    denied = WaitResolved(again.key, {"status": "denied"})
    state = fold(recorded([*events, again, ApprovalEscalated("1.0", again.key), denied]))
    [call] = state.open_calls()
    decision = state.decision(call.approval_request)
    assert decision is not None
    assert decision.value == {"status": "denied"}


@given(journals())
def test_what_was_said_is_in_the_conversation_once_or_still_to_be_answered(
    events: list[Event],
) -> None:
    state = fold(recorded(events))
    said = [message.text for message in state.messages if isinstance(message, UserMessage)]
    assert sorted(said[1:]) == sorted(e.text for e in events if isinstance(e, RunSteered))


def test_an_answer_that_had_not_seen_a_steer_is_not_the_last() -> None:
    unseen = fold(recorded([RunCreated("Do it.", "a"), STARTED, RunSteered("Wait!"), answer(1, 0)]))
    assert unseen.answer is None
    assert [type(message).__name__ for message in unseen.messages] == [
        "UserMessage",
        "AssistantMessage",
        "UserMessage",
    ]
    told = replace(answer(1, 0, "Yes."), seen=3)
    seen = fold(recorded([RunCreated("Do it.", "a"), STARTED, RunSteered("Wait!"), told]))
    assert seen.answer is not None
    assert seen.answer.text == "Yes."


@given(journals())
def test_events_survive_the_journals_json(events: list[Event]) -> None:
    for event in events:
        stored = encode(event)
        assert decode(stored["type"], stored["payload"]) == event


def test_a_field_of_a_newer_version_is_ignored() -> None:
    stored = encode(RunCreated("Do it.", "agent"))
    assert decode("run.created", {**stored["payload"], "colour": "red"}).type == "run.created"


def test_a_gap_is_refused() -> None:
    with pytest.raises(ValueError, match="event 2 cannot follow event 0"):
        fold(recorded([RunCreated("Do it.", "agent"), STARTED])[1:])


def test_time_spent_waiting_or_queued_is_not_working_time() -> None:
    events: list[tuple[int, Event]] = [
        (0, RunCreated("Do it.", "agent")),
        (100, STARTED),
        (103, answer(1, 1)),
        (104, CallWaiting("1.0", ("child:x",))),
        (900, WaitResolved("child:x", {"subject": "writer"})),
        (1000, STARTED),
    ]
    rows = [
        RecordedEvent(seq, EPOCH + timedelta(seconds=at), event)
        for seq, (at, event) in enumerate(events, start=1)
    ]
    assert fold(rows).worked_seconds == 4


def test_the_model_of_the_first_slice_is_that_of_the_run() -> None:
    other = replace(STARTED, model="openai:other")
    started: list[Event] = [RunCreated("Do it.", "agent"), STARTED, RunRequeued("drain"), other]
    assert fold(recorded(started)).model == "openai:fake"


def test_a_cancel_request_is_seen() -> None:
    rows = recorded([RunCreated("Do it.", "agent"), STARTED, CancelRequested("enough")])
    assert fold(rows).cancel_reason == "enough"


def test_the_working_times_of_all_slices_add_up() -> None:
    events: list[tuple[int, Event]] = [
        (0, RunCreated("Do it.", "agent")),
        (10, STARTED),
        (13, answer(1, 1)),
        (20, STARTED),
        (25, ToolFinished("1.0", "ok", "1")),
        (40, STARTED),
    ]
    rows = [
        RecordedEvent(seq, EPOCH + timedelta(seconds=at), event)
        for seq, (at, event) in enumerate(events, start=1)
    ]
    assert fold(rows).worked_seconds == 3 + 5


def test_a_fork_has_spent_nothing_yet() -> None:
    spent = replace(answer(1, 0, "Yes."), cost_usd="0.25")
    source: list[Event] = [RunCreated("Do it.", "a"), STARTED, spent]
    assert fold(recorded(source)).cost_usd == Decimal("0.25")
    state = fold(recorded([*source, RunForked(str(uuid4()), 3, 1, {}, "ann")]))
    assert (state.used_tokens, state.worked_seconds) == (0, 0)
    assert state.cost_usd == Decimal(0)
    assert state.messages[-1] == spent.message, "what was said stays"


def test_answers_count_from_the_first_on_and_anew_after_what_a_person_says() -> None:
    events: list[Event] = [RunCreated("Do it.", "a"), STARTED, replace(answer(1, 0, "A."), seen=2)]
    assert fold(recorded(events)).answers == 1
    events += [RunSteered("No: B.", source="person"), replace(answer(2, 0, "B."), seen=4)]
    assert fold(recorded(events)).answers == 0, "what was asked has changed"
    events.append(replace(answer(3, 0, "C."), seen=5))
    assert fold(recorded(events)).answers == 1


def test_a_run_that_is_stopped_reports_what_the_model_said_last() -> None:
    state = fold(recorded([RunCreated("Do it.", "a"), STARTED, answer(1, 0, "A."), answer(2, 1)]))
    assert state.partial == "A.", "the second answer has no text"
    state.streamed = "B"
    assert state.partial == "B"


@given(journals(), st.data())
def test_no_outcome_of_a_wait_stays_once_its_call_has_used_it(
    events: list[Event], data: st.DataObject
) -> None:
    state = fold(recorded(events[: data.draw(st.integers(0, len(events)))]))
    readable: set[str] = set()
    for call in state.open_calls():
        readable |= {*call.wait_keys}
        readable |= {call.approval_request.key} if call.approval_request is not None else set()
    assert set(state.resolved) <= readable


def test_given_a_kind_without_calls_that_paused_often_then_its_state_has_not_grown() -> None:
    state = RunState()
    begun: list[Event] = [RunCreated("Wait.", "waiter"), STARTED]
    pauses = [
        event
        for number in range(600)
        for event in (
            ModelDelayed(1, f"timer:{number}", "busy", 11.0),
            WaitResolved(f"timer:{number}", {"subject": "timer", "status": "over"}),
            STARTED,
        )
    ]
    for event in recorded([*begun, *pauses]):
        state.fold(event)
    assert (state.delays, state.resolved) == (600, {})
