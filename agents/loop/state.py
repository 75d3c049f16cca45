"""What a run is, as a fold over its journal: the loop decides from this and from nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime  # noqa: TC003  checkpoints evaluate the annotations
from decimal import Decimal
from typing import Any, Literal

from agents.context import summary
from agents.journal.events import (
    ApprovalLapsed,
    ApprovalRequested,
    CallWaiting,
    CancelRequested,
    ContextSummarized,
    ModelAnswered,
    ModelDelayed,
    ModelInterrupted,
    OutcomeRequested,
    RecordedEvent,
    RunCreated,
    RunForked,
    RunStarted,
    RunSteered,
    RunUnquarantined,
    ToolFinished,
    ToolStarted,
    WaitResolved,
)
from agents.llm.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from agents.output import respond
from heartbit_site.base.toolspec import WaitOutcome

POOR_ANSWERS = 2  # in a row, then the stronger model takes over

# What only the lease's holder writes: others' events come at any time, also while nobody works.
_WORK = (
    RunStarted,
    ModelAnswered,
    ModelInterrupted,
    ModelDelayed,
    ContextSummarized,
    ApprovalRequested,
    ApprovalLapsed,
    OutcomeRequested,
    ToolStarted,
    ToolFinished,
    CallWaiting,
)


@dataclass(slots=True)
class CallState:
    """One tool call of the run.

    Attributes:
        call_id: Ours, ``turn.index``.
        call: As the model wrote it.
        asked: What a person was asked about it, when it needs approval.
        lapsed: How often who approved it had lost the right to when it was about to run.
        started: Its intent is journaled, so it may already have acted: the tool's effect class.
        questions: How often a person was asked what became of it.
        doubt: The last of these questions, if it did not begin again since.
        keys: The waits it depends on, when it suspended.
        finished: Its result, once journaled.
    """

    call_id: str
    call: ToolCall
    asked: ApprovalRequested | None = None
    lapsed: int = 0
    started: str = ""
    questions: int = 0
    doubt: OutcomeRequested | None = None
    keys: tuple[str, ...] = ()
    finished: ToolFinished | None = None


@dataclass(frozen=True, slots=True)
class SteeringMessage:
    """What a run was told while it worked.

    Attributes:
        seq: Its place in the journal.
        text: What is said.
        source: Who says it, as in ``RunSteered``.
    """

    seq: int
    text: str
    source: Literal["person", "agent"]


@dataclass(slots=True)
class RunState:
    """The fold of a journal.

    Attributes:
        folded_seq: The last event folded; a finish is refused when the journal is further on.
        model: ``provider:model`` of this run, settled at its first start.
        turn: Model answers so far.
        steered_turn: The last turn whose answer knows nothing of what a person told the run.
        task: The run's own task: on a conversation there are messages before it.
        conversation: Messages, oldest first; a turn's results join when all its calls are done.
            It begins with what was said on the run's thread before.
        inbox: What the run was told and no answer has taken in yet.
        attempts: Failed attempts of the next model call that the journal knows of.
        delays: Pauses the run made so far, for whatever reason.
        answers: Final answers the model gave or tried to give.
        calls: The calls of the last turn that are not part of the conversation yet, by call id.
        resolved: Waits that ended since the last turn closed.
        worked_seconds: How long earlier slices worked; time spent waiting or queued is not in it.
        cancel_reason: Why somebody wants the run to stop, once somebody does.
        input_tokens: Tokens read by the model so far.
        output_tokens: Tokens written by the model so far.
        team_tokens: Tokens that its ended sub-agents used.
        cost_usd: What all of that cost, as far as prices are known.
        poor: Answers in a row, up to the last one, that did not do.
        escalated: Whether there were so many in a row that a stronger model takes over.
        finish_reason: Why the model ended its last answer.
        last_text: The last text the model produced.
        streamed: What the model call in flight has produced so far; not journaled.
    """

    folded_seq: int = 0
    model: str = ""
    turn: int = 0
    steered_turn: int = 0
    task: UserMessage | None = None
    conversation: list[Message] = field(default_factory=list)
    inbox: list[SteeringMessage] = field(default_factory=list)
    attempts: int = 0
    delays: int = 0
    answers: int = 0
    calls: dict[str, CallState] = field(default_factory=dict)
    resolved: dict[str, WaitOutcome] = field(default_factory=dict)
    worked_seconds: float = 0.0
    cancel_reason: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    team_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    poor: int = 0
    escalated: bool = False
    finish_reason: str = "stop"
    last_text: str = ""
    streamed: str = ""
    _open: int = 0
    _slice_began: datetime | None = None
    _worked_at: datetime | None = None

    def fold(self, recorded: RecordedEvent) -> None:
        """Take in the next event of the journal.

        Raises:
            ValueError: An event is missing or comes twice: the caller read the journal wrongly.
        """
        if recorded.seq != self.folded_seq + 1:
            raise ValueError(f"event {recorded.seq} cannot follow event {self.folded_seq}")
        self.folded_seq = recorded.seq
        match recorded.event:
            case RunCreated() as created:
                self._created(created)
            case RunStarted(model=model):
                self.model = self.model or model
                self._slice(recorded.at)
            case (
                ModelAnswered() | ModelInterrupted() | ModelDelayed() | ContextSummarized() as event
            ):
                self._asked(event)
            case (
                ApprovalRequested()
                | ApprovalLapsed()
                | OutcomeRequested()
                | ToolStarted()
                | CallWaiting()
                | ToolFinished() as step
            ):
                self._step(step)
            case WaitResolved() | RunSteered() | CancelRequested() as word:
                self._told(recorded.seq, word)
            case RunForked():
                self._forked()
            case RunUnquarantined():
                self.cancel_reason = None  # who let it go on took that back
            case _:
                pass  # requeues and endings change the row, not what the loop decides from
        if isinstance(recorded.event, _WORK):
            self._worked_at = recorded.at

    def _created(self, created: RunCreated) -> None:
        self.task = UserMessage(created.task)
        self.conversation.append(self.task)
        if created.call is not None:
            self._open_calls((created.call,))

    def _told(self, seq: int, word: WaitResolved | RunSteered | CancelRequested) -> None:
        match word:
            case WaitResolved(key=key, value=value):
                self.resolved[key] = WaitOutcome(str(value.get("subject", key)), value)
                self._spent_by_team(value.get("usage") or {})
            case RunSteered(text=text, source=source):
                self.inbox.append(SteeringMessage(seq, text, source))
                if source == "person":  # agents that answer each other would work for ever
                    self.steered_turn = self.turn
            case CancelRequested(reason=reason):
                self.cancel_reason = reason

    def _slice(self, at: datetime) -> None:
        if self._slice_began is not None and self._worked_at is not None:
            self.worked_seconds += (self._worked_at - self._slice_began).total_seconds()
        self._slice_began = at

    def _forked(self) -> None:
        """What another run was told, spent and worked is over; what was said and done is not."""
        self.model = ""  # settled at this run's own first start: its version may be another one
        self.attempts = 0
        self.cancel_reason = None
        self.worked_seconds = 0.0
        self.input_tokens = self.output_tokens = self.team_tokens = 0
        self.cost_usd = Decimal(0)
        self._slice_began = self._worked_at = None

    def _answered(self, answer: ModelAnswered) -> None:
        self.turn = answer.turn
        self.attempts = 0
        self.finish_reason = answer.finish_reason
        self.conversation += [UserMessage(w.text) for w in self.inbox if w.seq <= answer.seen]
        self.inbox = [word for word in self.inbox if word.seq > answer.seen]
        self.conversation.append(answer.message)
        self._spent(answer.usage, answer.cost_usd)
        self.last_text = answer.message.text or self.last_text
        self.streamed = ""
        asked = [call.name for call in answer.message.tool_calls]
        by_person = any(word.source == "person" for word in self.inbox)
        if by_person:
            self.steered_turn = answer.turn  # it has not seen the message: only the next one can
        if by_person or self.steered_turn >= answer.turn - 1 > 0:
            self.answers = self.poor = 0  # what was asked has changed: that was no failure
        elif not self.inbox:  # else it is not the last one, and that is not its fault either
            self.answers += not asked or respond.NAME in asked
            if not asked:
                self._judge(poor=True)  # should it do after all, then nothing follows
        self._open_calls(answer.message.tool_calls)

    def _open_calls(self, calls: tuple[ToolCall, ...]) -> None:
        self.calls = {
            (call_id := f"{self.turn}.{index}"): CallState(call_id, call)
            for index, call in enumerate(calls)
        }
        self._open = len(self.calls)

    def _asked(
        self, event: ModelAnswered | ModelInterrupted | ModelDelayed | ContextSummarized
    ) -> None:
        match event:
            case ModelAnswered():
                self._answered(event)
            case ModelDelayed(attempts=attempts):
                self.attempts += attempts
                self.delays += 1
            case ContextSummarized(upto=upto, text=text, usage=usage, cost_usd=cost):
                conversation = tuple(self.conversation)
                self.conversation = list(summary.replace(conversation, upto, text, task=self.task))
                self._spent(usage, cost)
            case ModelInterrupted(usage=usage, cost_usd=cost):
                self._spent(usage, cost)

    def _spent(self, usage: Usage, cost_usd: str | None) -> None:
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cost_usd += Decimal(cost_usd or 0)

    def _spent_by_team(self, usage: dict[str, Any]) -> None:
        """What a sub-agent that ended has used; the first journals do not say."""
        self.team_tokens += int(usage.get("tokens", 0))
        self.cost_usd += Decimal(usage.get("cost_usd", 0))

    def _judge(self, *, poor: bool) -> None:
        """Whether the last answer did not do: empty, of a wrong form, or no call that is valid."""
        self.poor = self.poor + 1 if poor else 0
        self.escalated = self.escalated or self.poor >= POOR_ANSWERS

    def _step(
        self,
        step: ApprovalRequested
        | ApprovalLapsed
        | OutcomeRequested
        | ToolStarted
        | CallWaiting
        | ToolFinished,
    ) -> None:
        call = self.calls[step.call_id]
        match step:
            case ApprovalRequested():
                call.asked = step
            case ApprovalLapsed(key=key):
                self._lapsed(call, key)
            case OutcomeRequested(question=question):
                call.questions = question
                call.doubt = step
            case ToolStarted(effect=effect):
                call.started = effect
                call.doubt = None
            case CallWaiting(keys=keys):
                call.keys = keys
            case ToolFinished():
                call.finished = step
                self._close_turn()

    def _lapsed(self, call: CallState, key: str) -> None:
        """Nobody has said that the call may run, or be made again."""
        if call.asked is not None and call.asked.key == key:
            call.asked = None
            call.lapsed += 1
        else:
            call.doubt = None

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
        self._judge(poor=all(result and result.status == "invalid" for result in results))
        self.calls = {}
        self.resolved = {}

    @property
    def used_tokens(self) -> int:
        """What the run and its ended sub-agents read and wrote."""
        return self.input_tokens + self.output_tokens + self.team_tokens

    @property
    def partial(self) -> str:
        """What a run that is stopped now has to show."""
        return self.streamed or self.last_text

    @property
    def answer(self) -> AssistantMessage | None:
        """The model's last message, as long as nothing has been said or found out since."""
        return None if self.inbox else self._last

    @property
    def unheard_answer(self) -> AssistantMessage | None:
        """The model's last message, if all that has been said since was said by agents."""
        by_agents = all(word.source == "agent" for word in self.inbox)
        return self._last if self.inbox and by_agents else None

    @property
    def _last(self) -> AssistantMessage | None:
        last = self.conversation[-1] if self.conversation else None
        return last if isinstance(last, AssistantMessage) and self.turn else None

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the next model call is about: the conversation and what people said since."""
        return (*self.conversation, *(UserMessage(word.text) for word in self.inbox))

    def decision(self, question: ApprovalRequested | OutcomeRequested | None) -> WaitOutcome | None:
        """What a person answered."""
        return self.resolved.get(question.key) if question is not None else None

    def open_calls(self) -> list[CallState]:
        """Calls without a result, in the model's order."""
        return [call for call in self.calls.values() if call.finished is None]

    def outcomes(self, call: CallState) -> tuple[WaitOutcome, ...] | None:
        """How a suspended call's waits ended, in order; None while one is open."""
        if not all(key in self.resolved for key in call.keys):
            return None
        return tuple(self.resolved[key] for key in call.keys)
