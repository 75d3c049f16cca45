"""State of a run as a fold over its journal: what every kind of run has.

A kind adds the fields that its engine needs for decisions (``agents.definitions.kinds``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, Self

from agents.definitions.kinds import part_of
from agents.journal.events import (
    ApprovalEscalated,
    CancelRequested,
    ChildStarted,
    Closing,
    ModelDelayed,
    RecordedEvent,
    ReviewRequested,
    RunCreated,
    RunForked,
    RunPaused,
    RunReleased,
    RunRequeued,
    RunRestored,
    RunStarted,
    RunSteered,
    RunUnquarantined,
    WaitResolved,
)
from agents.journal.folding import Fold, folds
from agents.journal.waits import REVIEW
from agents.llm.messages import Message, Usage
from heartbit_site.base.review_policy import ReviewPolicy
from heartbit_site.base.suspensions import WaitOutcome

# Events that others write, even while no worker has the run. The lease holder writes all others.
_BY_OTHERS = frozenset(
    {
        *(RunCreated, RunForked, RunRequeued, RunSteered, CancelRequested, WaitResolved),
        *(ApprovalEscalated, RunUnquarantined, RunRestored, RunReleased, *Closing.__args__),
    }
)


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
class RunState(Fold):
    """Fold of a journal.

    Attributes:
        folded_seq: Last event folded; a finish is refused if the journal has later events.
        task: Task of this run.
        inbox: Messages to the run that no model call has included yet.
        attempts: Journaled failed attempts of the next step.
        delays: Number of pauses so far, for any reason.
        children: Child runs started without a tool call whose outcome is not used yet, in order,
            by the key of their wait.
        resolved: Waits that ended and whose outcome is not used yet, by key.
        accepted_at: Time at which the run was accepted; None: a journal kept before it was noted.
        worked_seconds: Duration of earlier slices, without time spent waiting or queued.
        review: Review of the result before it is delivered; None: no one reviews it.
        reviews: Number of reviews that were requested.
        proposed: The result that is reviewed, or was reviewed last.
        cancel_reason: Reason of a cancel request, if there is one.
        team_tokens: Tokens used by its ended sub-agents.
        cost_usd: Cost of all these tokens, as far as prices are known.
    """

    folded_seq: int = 0
    task: str = ""
    inbox: list[SteeringMessage] = field(default_factory=list)
    attempts: int = 0
    delays: int = 0
    children: dict[str, ChildStarted] = field(default_factory=dict)
    resolved: dict[str, WaitOutcome] = field(default_factory=dict)
    accepted_at: datetime | None = None
    worked_seconds: float = 0.0
    review: ReviewPolicy | None = None
    reviews: int = 0
    proposed: ReviewRequested | None = None
    cancel_reason: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    team_tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    _pauses: set[str] = field(default_factory=set)
    _slice_began: datetime | None = None
    _worked_at: datetime | None = None

    @classmethod
    def begin(cls, thread: Sequence[Message]) -> Self:
        """Return the state before the first event.

        Args:
            thread: Messages of the earlier runs of the run's conversation.
        """
        del thread  # kinds with a conversation continue it
        return cls()

    def fold(self, recorded: RecordedEvent) -> None:
        """Apply the next event of the journal.

        Raises:
            ValueError: An event is missing or repeated.
        """
        if recorded.seq != self.folded_seq + 1:
            raise ValueError(f"event {recorded.seq} cannot follow event {self.folded_seq}")
        self.folded_seq = recorded.seq
        event = recorded.event
        if isinstance(event, RunCreated | RunForked):
            self.accepted_at = recorded.at
        if isinstance(event, RunStarted):
            self._begin_slice(recorded.at)
        self.apply(event)
        if type(event) not in _BY_OTHERS:
            self._worked_at = recorded.at

    def skip(self, recorded: RecordedEvent) -> None:
        """Note the next event of the journal, which was applied before it was written."""
        self.folded_seq, self._worked_at = recorded.seq, recorded.at

    @folds(RunCreated)
    def _take_task(self, created: RunCreated) -> None:
        self.task, self.review = created.task, created.review

    @folds(ChildStarted)
    def _start_child(self, started: ChildStarted) -> None:
        self.children[started.key] = started

    @folds(ModelDelayed, RunPaused)
    def _pause(self, pause: ModelDelayed | RunPaused) -> None:
        self.attempts += pause.attempts
        self.delays += 1
        self._pauses.add(pause.key)

    @folds(WaitResolved)
    def _resolve(self, resolved: WaitResolved) -> None:
        key, value = resolved.key, resolved.value
        if key in self._pauses:
            self._pauses.remove(key)  # no decision depends on the end of a pause
        else:
            self.resolved[key] = WaitOutcome(str(value.get("subject", key)), value)
        self._spent_by_team(value.get("usage") or {})
        if (changes := requested_changes(resolved)) is not None:
            self._forget(key)
            self.inbox.append(SteeringMessage(self.folded_seq, changes, "person"))

    @folds(ReviewRequested)
    def _propose(self, requested: ReviewRequested) -> None:
        self.reviews, self.proposed = requested.number, requested

    @folds(RunSteered)
    def _steer(self, steered: RunSteered) -> None:
        self.inbox.append(SteeringMessage(self.folded_seq, steered.text, steered.source))

    @folds(CancelRequested)
    def _request_cancel(self, requested: CancelRequested) -> None:
        self.cancel_reason = requested.reason

    @folds(RunUnquarantined)
    def _withdraw_cancel(self, _: RunUnquarantined) -> None:
        self.cancel_reason = None  # resuming the run withdrew the cancel

    @folds(RunForked)
    def _fork(self, _: RunForked) -> None:
        """Reset the source run's usage, time and requests; keep its results."""
        self.attempts = 0
        self.cancel_reason = None
        self.worked_seconds = 0.0
        self.input_tokens = self.output_tokens = self.team_tokens = 0
        self.cost_usd = Decimal(0)
        self._slice_began = self._worked_at = self.proposed = None
        self._pauses.clear()
        self.children = {key: c for key, c in self.children.items() if key in self.resolved}

    def _begin_slice(self, at: datetime) -> None:
        if self._slice_began is not None and self._worked_at is not None:
            self.worked_seconds += (self._worked_at - self._slice_began).total_seconds()
        self._slice_began = at

    def _spent(self, usage: Usage, cost_usd: str | None) -> None:
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cost_usd += Decimal(cost_usd or 0)

    def _spent_by_team(self, usage: dict[str, Any]) -> None:
        """Add the usage of an ended sub-agent, which the oldest journals do not record."""
        self.team_tokens += int(usage.get("tokens", 0))
        self.cost_usd += Decimal(usage.get("cost_usd", 0))

    def _forget(self, *keys: str) -> None:
        """Drop the used outcomes of waits, so that the state does not grow with them."""
        for key in keys:
            self.resolved.pop(key, None)
            self.children.pop(key, None)

    @property
    def step(self) -> int:
        """Number of finished steps; a run of the kind can be forked after each of them."""
        return 0

    @property
    def used_tokens(self) -> int:
        """Tokens of the run and its ended sub-agents, input and output."""
        return self.input_tokens + self.output_tokens + self.team_tokens

    @property
    def partial(self) -> str:
        """Text to report for a run that is stopped now."""
        return ""


def requested_changes(resolved: WaitResolved) -> str | None:
    """Return what a reviewer wants changed in the result; None: nothing."""
    answer = resolved.value.get("answer")
    if resolved.kind != REVIEW.name or not isinstance(answer, dict):
        return None
    return str(answer["message"]) if answer.get("decision") == "changes" else None


def state_of(kind: str) -> type[RunState]:
    """Return the state of a kind; for a kind unknown to this process, the common state."""
    found: type[RunState] = part_of(kind, "state")
    return found
