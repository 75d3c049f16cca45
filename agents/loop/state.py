"""State of a run as a fold over its journal; the loop decides from it alone."""

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
    MemoriesExtracted,
    MemoriesRecalled,
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
    ScriptCalled,
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
from heartbit_site.base.suspensions import WaitOutcome

POOR_ANSWERS = 2  # in a row, then the stronger model takes over

# What only the lease's holder writes: others' events come at any time, also while nobody works.
_WORK = (
    RunStarted,
    ModelAnswered,
    ModelInterrupted,
    ModelDelayed,
    ContextSummarized,
    MemoriesRecalled,
    MemoriesExtracted,
    ApprovalRequested,
    ApprovalLapsed,
    OutcomeRequested,
    ToolStarted,
    ToolFinished,
    ScriptCalled,
    CallWaiting,
)


@dataclass(slots=True)
class CallState:
    """State of one tool call.

    Attributes:
        call_id: Heartbit's id, ``turn.index``; of a script's call ``turn.index.number``.
        parent: Id of the call whose script made it; empty: the model made it.
        rounds: Calls that its own script made, if it runs one.
        approval_request: Open or resolved approval request, if the call needs approval.
        lapsed_decisions: Number of approvals whose approver had lost the right before the call ran.
        started: Effect class of the tool once its intent is journaled: it may already have acted.
        outcome_requests: Number of times a person was asked for the call's outcome.
        outcome_request: Latest request for the outcome, unless the call was started again since.
        wait_keys: Keys of the waits it suspended for.
        questions: Number of questions that it asked a person while it ran.
        question_state: Text that it is given back with the reply to the last one.
    """

    call_id: str
    call: ToolCall
    parent: str = ""
    rounds: list[ScriptCalled] = field(default_factory=list)
    approval_request: ApprovalRequested | None = None
    lapsed_decisions: int = 0
    started: str = ""
    outcome_requests: int = 0
    outcome_request: OutcomeRequested | None = None
    wait_keys: tuple[str, ...] = ()
    questions: int = 0
    question_state: str = ""
    finished: ToolFinished | None = None


@dataclass(frozen=True, slots=True)
class SteeringMessage:
    """Message to a running run.

    Attributes:
        source: Kind of sender, as in ``RunSteered``.
    """

    seq: int
    text: str
    source: Literal["person", "agent"]


@dataclass(slots=True)
class RunState:
    """Fold of a journal.

    Attributes:
        folded_seq: Last event folded; a finish is refused if the journal is further on.
        model: ``provider:model`` of this run, fixed at its first start.
        turn: Model answers so far.
        steered_turn: Last turn whose answer precedes a person's message.
        task: Task of this run; a conversation has earlier messages before it.
        conversation: Messages, oldest first, beginning with the earlier runs of the run's thread; a
            turn's results are added together when all its calls are finished.
        inbox: Messages to the run that no answer has taken in yet.
        attempts: Journaled failed attempts of the next model call.
        delays: Number of pauses so far, for any reason.
        answers: Number of final answers that the model gave or tried to give.
        calls: Calls of the last turn, and of its scripts, that are not part of the conversation
            yet, by call id.
        resolved: Waits that ended since the last turn closed.
        worked_seconds: Duration of earlier slices, without time spent waiting or queued.
        cancel_reason: Reason of a cancel request, if there is one.
        team_tokens: Tokens used by its ended sub-agents.
        cost_usd: Cost of all these tokens, as far as prices are known.
        poor_answers: Number of unusable answers in a row, up to the last one.
        escalated: True once the stronger model takes over after too many unusable answers.
        finish_reason: Finish reason of the model's last answer.
        has_artifacts: True once a result was too long for the model and stored as an artifact.
        recalled: True once the run was given memories at its start.
        extracted: Memories that the run has stored of another run; None: not yet.
        streamed: Text of the model call in flight; not journaled.
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
    poor_answers: int = 0
    escalated: bool = False
    finish_reason: str = "stop"
    has_artifacts: bool = False
    recalled: bool = False
    extracted: MemoriesExtracted | None = None
    last_text: str = ""
    streamed: str = ""
    _open: int = 0
    _slice_began: datetime | None = None
    _worked_at: datetime | None = None

    def fold(self, recorded: RecordedEvent) -> None:
        """Apply the next event of the journal.

        Raises:
            ValueError: An event is missing or repeated.
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
                ModelAnswered()
                | ModelInterrupted()
                | ModelDelayed()
                | ContextSummarized()
                | MemoriesRecalled()
                | MemoriesExtracted() as event
            ):
                self._asked(event)
            case (
                ApprovalRequested()
                | ApprovalLapsed()
                | OutcomeRequested()
                | ToolStarted()
                | CallWaiting()
                | ScriptCalled()
                | ToolFinished() as step
            ):
                self._step(step)
            case WaitResolved() | RunSteered() | CancelRequested() as word:
                self._message(recorded.seq, word)
            case RunForked():
                self._forked()
            case RunUnquarantined():
                self.cancel_reason = None  # resuming the run withdrew the cancel
            case _:
                pass  # requeues and endings change the row, not what the loop decides from
        if isinstance(recorded.event, _WORK):
            self._worked_at = recorded.at

    def _created(self, created: RunCreated) -> None:
        self.task = UserMessage(created.task)
        self.conversation.append(self.task)
        if created.call is not None:
            self._open_calls((created.call,))

    def _message(self, seq: int, word: WaitResolved | RunSteered | CancelRequested) -> None:
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
        """Reset the source run's usage, time and requests; keep its conversation and calls."""
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
            self.answers = self.poor_answers = 0  # what was asked has changed: that was no failure
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
        self,
        event: (
            ModelAnswered
            | ModelInterrupted
            | ModelDelayed
            | ContextSummarized
            | MemoriesRecalled
            | MemoriesExtracted
        ),
    ) -> None:
        match event:
            case MemoriesRecalled():
                self.recalled = True
            case MemoriesExtracted():
                self.extracted = event
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
        """Add the usage of an ended sub-agent, which the first journals do not record."""
        self.team_tokens += int(usage.get("tokens", 0))
        self.cost_usd += Decimal(usage.get("cost_usd", 0))

    def _judge(self, *, poor: bool) -> None:
        """Count unusable answers in a row: empty, of a wrong form, or without a valid call."""
        self.poor_answers = self.poor_answers + 1 if poor else 0
        self.escalated = self.escalated or self.poor_answers >= POOR_ANSWERS

    def _step(
        self,
        step: ApprovalRequested
        | ApprovalLapsed
        | OutcomeRequested
        | ToolStarted
        | CallWaiting
        | ScriptCalled
        | ToolFinished,
    ) -> None:
        call = self.calls[step.call_id]
        match step:
            case ApprovalRequested():
                call.approval_request = step
            case ApprovalLapsed(key=key):
                self._lapsed(call, key)
            case OutcomeRequested(question=question):
                call.outcome_requests = question
                call.outcome_request = step
            case ToolStarted(effect=effect):
                call.started = effect
                call.outcome_request = None
            case CallWaiting(keys=keys):
                call.wait_keys = keys
                call.started = ""  # what it did is known: it waits
                if step.form:  # it ended with a question, and acts again once it has the reply
                    call.questions, call.question_state = call.questions + 1, step.state
            case ScriptCalled():
                self._script_called(call, step)
            case ToolFinished():
                call.finished = step
                self.has_artifacts = self.has_artifacts or step.artifact != ""
                if not call.parent:
                    self._close_turn()

    def _script_called(self, call: CallState, step: ScriptCalled) -> None:
        call.rounds.append(step)
        for call_id, one in zip(step.call_ids, step.calls, strict=True):
            self.calls[call_id] = CallState(call_id, one, parent=call.call_id)

    def _lapsed(self, call: CallState, key: str) -> None:
        """Discard the decision: the call needs a new one before it runs or is repeated."""
        if call.approval_request is not None and call.approval_request.key == key:
            call.approval_request = None
            call.lapsed_decisions += 1
        else:
            call.outcome_request = None

    def _close_turn(self) -> None:
        self._open -= 1
        if self._open:
            return  # never an orphan call: results join the conversation together
        calls = [state for state in self.calls.values() if not state.parent]
        results = [state.finished for state in calls]
        for state, result in zip(calls, results, strict=True):
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
        """Tokens of the run and its ended sub-agents, input and output."""
        return self.input_tokens + self.output_tokens + self.team_tokens

    @property
    def partial(self) -> str:
        """Text to report for a run that is stopped now."""
        return self.streamed or self.last_text

    @property
    def answer(self) -> AssistantMessage | None:
        """Last message of the model, unless results or messages followed."""
        return None if self.inbox else self._last

    @property
    def answer_before_agent_message(self) -> AssistantMessage | None:
        """Last message of the model, if only agents' messages followed."""
        by_agents = all(word.source == "agent" for word in self.inbox)
        return self._last if self.inbox and by_agents else None

    @property
    def _last(self) -> AssistantMessage | None:
        last = self.conversation[-1] if self.conversation else None
        return last if isinstance(last, AssistantMessage) and self.turn else None

    @property
    def messages(self) -> tuple[Message, ...]:
        """Conversation of the next model call, including unanswered messages to the run."""
        return (*self.conversation, *(UserMessage(word.text) for word in self.inbox))

    def decision(self, question: ApprovalRequested | OutcomeRequested | None) -> WaitOutcome | None:
        """Return the person's answer to a request, or None."""
        return self.resolved.get(question.key) if question is not None else None

    def open_calls(self) -> list[CallState]:
        """Return calls without a result, in the order in which they were made."""
        return [call for call in self.calls.values() if call.finished is None]

    @property
    def is_in_script(self) -> bool:
        """True while a script has made calls and has not ended."""
        return any(call.rounds for call in self.open_calls())

    def is_waiting_for_calls(self, call: CallState) -> bool:
        """Return True if a call's script waits for results of its own calls."""
        return any(one.parent == call.call_id for one in self.open_calls())

    def outcomes(self, call: CallState) -> tuple[WaitOutcome, ...] | None:
        """Return the outcomes of a suspended call's waits, in order; None while one is open."""
        if not all(key in self.resolved for key in call.wait_keys):
            return None
        return tuple(self.resolved[key] for key in call.wait_keys)
