"""A fork's journal, as a pure matter: whatever the source was, the next model call is the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.definitions.definition import AgentDefinition
from agents.journal.events import (
    CancelRequested,
    ContextSummarized,
    Event,
    RecordedEvent,
    RunCreated,
    RunFailed,
    RunForked,
    RunSteered,
    RunSucceeded,
    ToolFinished,
)
from agents.llm.messages import ToolDefinition, Usage, UserMessage
from agents.loop.agent_state import AgentState
from agents.loop.history import (
    TurnNotFoundError,
    TurnOpenError,
    is_final,
    last_seq_of_turn,
    replay_to,
    turns,
)
from agents.loop.request import build_request
from tests.loop.test_state import STARTED, answer, fold, journals, recorded

DEFINITION = AgentDefinition(
    version_id=1,
    agent_id=1,
    name="solo",
    system_prompt="Be brief.",
    model="openai:fake",
    temperature=None,
    tools=(),
    team=(),
    max_turns=10,
    max_tokens=100,
    timeout_seconds=60,
    tool_timeout_seconds=5,
    max_tool_output_bytes=1000,
    max_parallel=2,
    delegation_timeout_seconds=5,
    context_strategy={"type": "sliding_window", "max_tokens": 40},
)
SCHEMA = DEFINITION.model_copy(update={"response_schema": {"type": "object", "properties": {}}})
TOOL = ToolDefinition("tool", "A tool.", {"type": "object"})
THREAD = (UserMessage("Before."),)


def forked(journal: list[RecordedEvent], turn: int, *said: Event) -> list[RecordedEvent]:
    """The journal of a fork, a worker's claim included."""
    cut = last_seq_of_turn(journal, turn)
    added = [RunForked("source", cut, turn), *said, STARTED]
    late = journal[-1].at + timedelta(days=90)
    return [
        *journal[:cut],
        *(RecordedEvent(cut + n, late, e) for n, e in enumerate(added, start=1)),
    ]


def asked(state: AgentState, definition: AgentDefinition) -> object:
    return replace(build_request(state, definition, tools=(TOOL,)), attempts=0)


@given(journals(), st.data())
def test_a_fork_without_edits_asks_what_its_source_asked_byte_for_byte(
    events: list[Event], data: st.DataObject
) -> None:
    journal = recorded(events)
    found = turns(journal)
    closed = [turn.number for turn in found if turn.closed_seq is not None]
    number = data.draw(st.sampled_from([0, *closed]))
    fork = fold(forked(journal, number), AgentState(conversation=list(THREAD)))
    following = found[number:]
    seq = following[0].asked_seq if following else len(journal)
    source = replay_to(journal, seq, THREAD)
    assert (fork.conversation, fork.inbox, fork.turn) == (
        *(source.conversation, source.inbox, source.turn),
    )
    for definition in (DEFINITION, SCHEMA):
        if source.answer is None or definition is SCHEMA:
            assert asked(fork, definition) == asked(source, definition)


@given(journals())
def test_a_past_turns_state_is_what_the_model_was_told(events: list[Event]) -> None:
    journal = recorded(events)
    for turn in turns(journal):
        state = replay_to(journal, turn.asked_seq)
        assert state.turn == turn.number - 1
        assert not state.calls, "no turn is asked for while calls are open"


def test_what_the_source_worked_spent_and_was_told_is_not_the_forks() -> None:
    usage = Usage(input_tokens=2, output_tokens=1)
    events: list[Event] = [
        *(RunCreated("Do it.", "solo"), STARTED),
        *(answer(1, 1), ToolFinished("1.0", "ok", "42 " * 400), RunSteered("hurry")),
        ContextSummarized(2, 3, "short", usage, "fake"),
        *(STARTED, CancelRequested("enough")),
    ]
    journal = recorded(events)
    source, fork = fold(journal), fold(forked(journal, 1))
    assert (source.worked_seconds, source.cancel_reason) == (4.0, "enough")
    assert (fork.worked_seconds, fork.cancel_reason) == (0.0, None)
    assert source.input_tokens == 4
    assert (fork.input_tokens, fork.output_tokens) == (0, 0)
    assert fork.conversation == source.conversation, "the summary is kept: nothing is paid twice"
    assert fork.model == "openai:fake", "settled by its own first start"


def test_how_a_run_ended_is_not_copied_and_a_message_gives_new_turns() -> None:
    ended = recorded(
        [RunCreated("Do it.", "solo"), STARTED, answer(1, 0, "Done."), RunSucceeded("Done.")]
    )
    assert is_final(ended, 1)
    assert last_seq_of_turn(ended, 1) == 3
    state = fold(forked(ended, 1, RunSteered("Once more.")))
    assert state.answer is None, "the message has to be answered"
    assert state.messages[-1] == UserMessage("Once more.")
    assert state.steered_turn == 1, "max_turns counts from the message on"


def test_an_open_turn_and_a_turn_that_never_was_are_refused_with_a_sentence() -> None:
    journal = recorded(
        [
            *(RunCreated("Do it.", "solo"), STARTED, answer(1, 2)),
            *(ToolFinished("1.1", "ok", "x"), RunFailed("internal", "It broke.")),
        ]
    )
    with pytest.raises(TurnOpenError, match=r"no result of 1\.0\): take turn 0"):
        last_seq_of_turn(journal, 1)
    with pytest.raises(TurnNotFoundError, match="no turn 2; its turns are: 1 to 1"):
        last_seq_of_turn(journal, 2)
    with pytest.raises(TurnNotFoundError, match="no turn -1"):
        last_seq_of_turn(journal, -1)
    assert last_seq_of_turn(journal, 0) == 2, "turn 0 ends where the model was first asked"


def test_journals_that_do_not_say_what_the_model_had_seen_can_be_read() -> None:
    early = answer(1, 0)
    assert early.seen == 0
    [turn] = turns(recorded([RunCreated("Do it.", "solo"), STARTED, early]))
    assert turn.asked_seq == 2
