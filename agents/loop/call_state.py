"""Tool calls in the state of a run, for every kind of run that makes some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.journal.events import (
    ApprovalLapsed,
    ApprovalRequested,
    CallWaiting,
    OutcomeRequested,
    ScriptCalled,
    ToolFinished,
    ToolStarted,
)
from agents.journal.folding import folds
from agents.llm.messages import ToolCall
from agents.loop.state import RunState
from heartbit_site.base.suspensions import WaitOutcome


@dataclass(slots=True)
class CallState:
    """State of one tool call.

    Attributes:
        call_id: Heartbit's id: ``step.index``, or ``step.index.number`` for a script's call.
        parent: Id of the call whose script made this call; empty: no script did.
        rounds: Calls that this call's own script made, if it runs one.
        approval_request: Open or resolved approval request, if the call needs approval.
        lapsed_decisions: Number of approvals whose approver had lost the right before the call ran.
        started: Effect class of the tool once its intent is journaled: the tool may have acted.
        outcome_requests: Number of times a person was asked for the call's outcome.
        outcome_request: Latest request for the outcome, unless the call was started again since.
        wait_keys: Keys of the waits that the call suspended for.
        questions: Number of times that the call asked a person, or waited, to run again afterwards.
        question_state: Text that the call gets back when it runs again.
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


@dataclass(slots=True)
class CallingState(RunState):
    """State of a run that makes tool calls.

    Attributes:
        calls: Calls of the current step, and of its scripts, by call id.
    """

    calls: dict[str, CallState] = field(default_factory=dict)
    _open: int = 0

    def _open_calls(self, step: int, calls: Sequence[ToolCall]) -> None:
        self.calls = {
            (call_id := f"{step}.{index}"): CallState(call_id, call)
            for index, call in enumerate(calls)
        }
        self._open = len(self.calls)

    def _close_calls(self, calls: list[CallState]) -> None:
        """Take the results of a step's calls, once all of them are finished."""
        raise NotImplementedError

    @folds(ApprovalRequested)
    def _request_approval(self, request: ApprovalRequested) -> None:
        self.calls[request.call_id].approval_request = request

    @folds(ApprovalLapsed)
    def _lapse(self, lapsed: ApprovalLapsed) -> None:
        """Discard the decision: the call needs a new decision before it runs or is repeated."""
        call = self.calls[lapsed.call_id]
        self._forget(lapsed.key)
        if call.approval_request is not None and call.approval_request.key == lapsed.key:
            call.approval_request = None
            call.lapsed_decisions += 1
        else:
            call.outcome_request = None

    @folds(OutcomeRequested)
    def _request_outcome(self, request: OutcomeRequested) -> None:
        call = self.calls[request.call_id]
        self._forget_outcome(call)
        call.outcome_requests = request.question
        call.outcome_request = request

    @folds(ToolStarted)
    def _start_call(self, started: ToolStarted) -> None:
        call = self.calls[started.call_id]
        call.started = started.effect
        self._forget_outcome(call)
        call.outcome_request = None

    @folds(CallWaiting)
    def _suspend_call(self, waiting: CallWaiting) -> None:
        call = self.calls[waiting.call_id]
        self._forget(*call.wait_keys)
        call.wait_keys = waiting.keys
        call.started = ""  # its outcome is known: it waits
        if waiting.form or waiting.state:  # the call runs again with the reply, or after the time
            call.questions, call.question_state = call.questions + 1, waiting.state

    @folds(ScriptCalled)
    def _add_script_calls(self, made: ScriptCalled) -> None:
        self.calls[made.call_id].rounds.append(made)
        for call_id, call in zip(made.call_ids, made.calls, strict=True):
            self.calls[call_id] = CallState(call_id, call, parent=made.call_id)

    @folds(ToolFinished)
    def _finish_call(self, finished: ToolFinished) -> None:
        call = self.calls[finished.call_id]
        call.finished = finished
        self._forget(*call.wait_keys)
        self._forget_outcome(call)
        if call.approval_request is not None:
            self._forget(call.approval_request.key)
        if call.parent:
            return
        self._open -= 1
        if not self._open:  # all results at once, so that no call is left without its result
            self._close_calls([one for one in self.calls.values() if not one.parent])
            self.calls = {}

    def _forget_outcome(self, call: CallState) -> None:
        if call.outcome_request is not None:
            self._forget(call.outcome_request.key)

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

    def open_waits(self, call: CallState) -> int:
        """Return the number of waits for which a call is suspended and which have not ended."""
        requests = (call.approval_request, call.outcome_request)
        keys = [request.key for request in requests if request is not None]
        return sum(key not in self.resolved for key in (*keys, *call.wait_keys))

    def may_run(self, call: CallState) -> bool:
        """Return True if a call can be served now."""
        return not self.open_waits(call)

    def is_waiting_for_calls(self, call: CallState) -> bool:
        """Return True if a call's script waits for results of its own calls."""
        return any(one.parent == call.call_id for one in self.open_calls())

    def outcomes(self, call: CallState) -> tuple[WaitOutcome, ...] | None:
        """Return the outcomes of a suspended call's waits, in order; None while one is open."""
        if not all(key in self.resolved for key in call.wait_keys):
            return None
        return tuple(self.resolved[key] for key in call.wait_keys)
