"""Turns of a journal, and replay of the run's state at any of them. Pure.

Usage::

    [first, second] = turns(journal)
    state = replay_to(journal, second.asked_seq, thread)  # the state of turn 2's request
    journal[: last_seq_of_turn(journal, 1)]               # the events that decide turn 2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.journal.events import (
    Closing,
    ModelAnswered,
    RecordedEvent,
    RunCreated,
    RunSucceeded,
    ToolFinished,
)
from agents.llm.messages import Message
from agents.loop.agent_state import AgentState
from agents.loop.state import state_of
from heartbit_site.base.errors import ConflictError, NotFoundError


class TurnNotFoundError(NotFoundError):
    """The run has no such turn."""


class TurnOpenError(ConflictError):
    """Calls of the turn have no result yet."""


@dataclass(slots=True)
class Turn:
    """One answered model call with the results of its tool calls.

    Attributes:
        number: Number of the turn, from 1.
        asked_seq: Last event that the request included.
        results: Finished calls by call id, in the order in which they ended; those that a script
            made, too.
        closed_seq: Sequence number of the last result; None while the model's calls miss one.
    """

    number: int
    asked_seq: int
    seq: int
    answer: ModelAnswered
    results: dict[str, RecordedEvent] = field(default_factory=dict)
    closed_seq: int | None = None

    @property
    def call_ids(self) -> list[str]:
        """Ids of the turn's calls, in the model's order."""
        return [f"{self.number}.{index}" for index in range(len(self.answer.message.tool_calls))]


def turns(journal: Sequence[RecordedEvent]) -> list[Turn]:
    """Return the answered turns, oldest first."""
    found: list[Turn] = []
    for recorded in journal:
        match recorded.event:
            case ModelAnswered() as answer:
                # The first journals do not record ``seen``.
                asked = answer.seen or recorded.seq - 1
                turn = Turn(answer.turn, asked, recorded.seq, answer)
                turn.closed_seq = None if answer.message.tool_calls else recorded.seq
                found.append(turn)
            case ToolFinished(call_id=call_id) if found:
                found[-1].results[call_id] = recorded
                if found[-1].results.keys() >= set(found[-1].call_ids):
                    found[-1].closed_seq = recorded.seq
    return found


def find_turn(journal: Sequence[RecordedEvent], number: int) -> Turn:
    """Return the turn with a number.

    Raises:
        TurnNotFoundError: No such turn was answered, or the run's kind has no turns.
    """
    kind = kind_of(journal)
    if kind != "agent":
        raise _without_turns(kind)
    found = turns(journal)
    if not 1 <= number <= len(found):
        there = f"1 to {len(found)}" if found else "none yet"
        raise TurnNotFoundError(f"The run has no turn {number}; its turns are: {there}.")
    return found[number - 1]


def _without_turns(kind: str) -> TurnNotFoundError:
    return TurnNotFoundError(f"The run's kind is {kind}: only an agent's run has turns.")


def kind_of(journal: Sequence[RecordedEvent]) -> str:
    """Return the kind of the run from its first event."""
    first = journal[0].event if journal else None
    return first.kind if isinstance(first, RunCreated) else "agent"


def replay_to(
    journal: Sequence[RecordedEvent], seq: int, thread: Sequence[Message] = ()
) -> AgentState:
    """Return the state of an agent's run after the event ``seq``.

    Args:
        journal: Journal from its first event.
        seq: Last event to fold.
        thread: Earlier messages of the run's conversation.
    """
    state = AgentState.begin(thread)
    for recorded in journal[:seq]:
        state.fold(recorded)
    return state


def last_seq_of_step(journal: Sequence[RecordedEvent], number: int) -> int:
    """Return the last event of a step, which is a turn if the run's kind is an agent; 0: the task.

    Raises:
        TurnNotFoundError: The run has no such step.
        TurnOpenError: A call of the turn has no result.
    """
    kind = kind_of(journal)
    if kind == "agent" or number == 0:
        return last_seq_of_turn(journal, number)
    state, ends = state_of(kind).begin(()), []
    for recorded in journal:
        before = state.step
        state.fold(recorded)
        if state.step > before:
            ends.append(recorded.seq)
    if not ends:
        raise _without_turns(kind)
    if not 1 <= number <= len(ends):
        raise TurnNotFoundError(
            f"The run has no step {number}; its finished steps are: 1 to {len(ends)}."
        )
    return ends[number - 1]


def last_seq_of_turn(journal: Sequence[RecordedEvent], number: int) -> int:
    """Return the last event before the next turn's request; turn 0 is the task alone.

    The next answer's model call began there, including messages and summaries until then. Without a
    next answer it is the journal's end, without the run's ending. For a run of another kind than an
    agent's it is the first event.

    Raises:
        TurnNotFoundError: The model has not answered that often.
        TurnOpenError: A call of the turn has no result.
    """
    closed = 1
    if number != 0:
        turn = find_turn(journal, number)
        if turn.closed_seq is None:
            open_calls = ", ".join(i for i in turn.call_ids if i not in turn.results)
            raise TurnOpenError(
                f"Turn {number} is not complete (no result of {open_calls}): "
                f"take turn {number - 1}."
            )
        closed = turn.closed_seq
    if kind_of(journal) != "agent":
        return closed
    following = turns(journal)[number:]
    if following:
        return max(closed, following[0].asked_seq)
    last = len(journal)
    while last > closed and isinstance(journal[last - 1].event, Closing):
        last -= 1
    return last


def is_final(journal: Sequence[RecordedEvent], number: int) -> bool:
    """Return True if the turn's answer ended the run."""
    ended = any(isinstance(recorded.event, RunSucceeded) for recorded in journal[-1:])
    return ended and kind_of(journal) == "agent" and number == len(turns(journal))
