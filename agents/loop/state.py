"""What a run is, as a fold over its journal: the loop decides from this and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agents.events import (
    CallWaiting,
    CancelRequested,
    ModelAnswered,
    Recorded,
    RunCreated,
    RunStarted,
    ToolFinished,
    ToolStarted,
    WaitResolved,
)
from agents.llm.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from heartbit_site.base.toolspec import WaitOutcome

if TYPE_CHECKING:
    from datetime import datetime

# What only the lease's holder writes: others' events come at any time, also while nobody works.
_WORK = (RunStarted, ModelAnswered, ToolStarted, ToolFinished, CallWaiting)


@dataclass(slots=True)
class CallState:
    """One tool call of the run.

    Attributes:
        call_id: Ours, ``turn.index``.
        call: As the model wrote it.
        started: Its intent is journaled, so an at-most-once tool may already have acted.
        keys: The waits it depends on, when it suspended.
        finished: Its result, once journaled.
    """

    call_id: str
    call: ToolCall
    started: bool = False
    keys: tuple[str, ...] = ()
    finished: ToolFinished | None = None


@dataclass(slots=True)
class RunState:
    """The fold of a journal.

    Attributes:
        folded_seq: The last event folded; a finish is refused when the journal is further on.
        model: ``provider:model`` of this run, settled at its first start.
        turn: Model answers so far.
        conversation: Messages, oldest first; a turn's results join when all its calls are done.
        calls: The calls of the last turn that are not part of the conversation yet, by call id.
        resolved: Waits that ended since the last turn closed.
        worked_seconds: How long earlier slices worked; time spent waiting or queued is not in it.
        cancel_reason: Why somebody wants the run to stop, once somebody does.
        input_tokens: Tokens read by the model so far.
        output_tokens: Tokens written by the model so far.
        last_text: The last text the model produced.
        streamed: What the model call in flight has produced so far; not journaled.
    """

    folded_seq: int = 0
    model: str = ""
    turn: int = 0
    conversation: list[Message] = field(default_factory=list)
    calls: dict[str, CallState] = field(default_factory=dict)
    resolved: dict[str, WaitOutcome] = field(default_factory=dict)
    worked_seconds: float = 0.0
    cancel_reason: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    last_text: str = ""
    streamed: str = ""
    _open: int = 0
    _slice_began: datetime | None = None
    _worked_at: datetime | None = None

    def fold(self, recorded: Recorded) -> None:
        """Take in the next event of the journal.

        Raises:
            ValueError: An event is missing or comes twice: the caller read the journal wrongly.
        """
        if recorded.seq != self.folded_seq + 1:
            raise ValueError(f"event {recorded.seq} cannot follow event {self.folded_seq}")
        self.folded_seq = recorded.seq
        match recorded.event:
            case RunCreated(task=task):
                self.conversation.append(UserMessage(task))
            case RunStarted(model=model):
                self.model = self.model or model
                self._slice(recorded.at)
            case ModelAnswered() as answer:
                self._answered(answer)
            case ToolStarted() | CallWaiting() | ToolFinished() as step:
                self._step(step)
            case WaitResolved(key=key, value=value):
                self.resolved[key] = WaitOutcome(str(value.get("subject", key)), value)
            case CancelRequested(reason=reason):
                self.cancel_reason = reason
            case _:
                pass  # requeues and endings change the row, not what the loop decides from
        if isinstance(recorded.event, _WORK):
            self._worked_at = recorded.at

    def _slice(self, at: datetime) -> None:
        if self._slice_began is not None and self._worked_at is not None:
            self.worked_seconds += (self._worked_at - self._slice_began).total_seconds()
        self._slice_began = at

    def _answered(self, answer: ModelAnswered) -> None:
        self.turn = answer.turn
        self.conversation.append(answer.message)
        self.input_tokens += answer.usage.input_tokens
        self.output_tokens += answer.usage.output_tokens
        self.last_text = answer.message.text or self.last_text
        self.streamed = ""
        self.calls = {
            (call_id := f"{answer.turn}.{index}"): CallState(call_id, call)
            for index, call in enumerate(answer.message.tool_calls)
        }
        self._open = len(self.calls)

    def _step(self, step: ToolStarted | CallWaiting | ToolFinished) -> None:
        call = self.calls[step.call_id]
        match step:
            case ToolStarted():
                call.started = True
            case CallWaiting(keys=keys):
                call.keys = keys
            case ToolFinished():
                call.finished = step
                self._close_turn()

    def _close_turn(self) -> None:
        self._open -= 1
        if self._open:
            return  # never an orphan call: results join the conversation together
        results = [state.finished for state in self.calls.values()]
        for state, result in zip(self.calls.values(), results, strict=True):
            if result is not None:
                self.conversation.append(
                    ToolMessage(
                        call_id=state.call.id,
                        name=state.call.name,
                        content=result.content,
                        is_error=result.status != "ok",
                    )
                )
        self.calls = {}
        self.resolved = {}

    @property
    def partial(self) -> str:
        """What a run that is stopped now has to show."""
        return self.streamed or self.last_text

    @property
    def answer(self) -> str | None:
        """The final answer, once the model has given one."""
        last = self.conversation[-1] if self.conversation else None
        if isinstance(last, AssistantMessage) and not last.tool_calls:
            return last.text
        return None

    def open_calls(self) -> list[CallState]:
        """Calls without a result, in the model's order."""
        return [call for call in self.calls.values() if call.finished is None]

    def outcomes(self, call: CallState) -> tuple[WaitOutcome, ...] | None:
        """How a suspended call's waits ended, in order; None while one is open."""
        if not all(key in self.resolved for key in call.keys):
            return None
        return tuple(self.resolved[key] for key in call.keys)
