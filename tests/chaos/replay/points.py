"""Where a run's journal could be taken up, what the loop decides there, and whether it did so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agents.journal.events import (
    ApprovalEscalated,
    ApprovalRequested,
    BudgetAsked,
    CallWaiting,
    CancelRequested,
    ChildStarted,
    Closing,
    ContextSummarized,
    ModelAnswered,
    ModelDelayed,
    ModelInterrupted,
    OutcomeRequested,
    ReviewRequested,
    RunCancelled,
    RunFailed,
    RunForked,
    RunPaused,
    RunReleased,
    RunRequeued,
    RunRestored,
    RunStarted,
    RunSteered,
    RunSucceeded,
    RunUnquarantined,
    ScriptCalled,
    ToolFinished,
    ToolStarted,
    WaitResolved,
)
from tests.chaos.replay.kept import Point
from tests.chaos.replay.probe import decide

if TYPE_CHECKING:
    from agents.journal.events import Event, RecordedEvent
    from tests.chaos.replay.kept import Kept

_OTHERS = (
    RunSteered,
    ApprovalEscalated,
    CancelRequested,
    WaitResolved,
    RunRequeued,
    RunStarted,
    RunForked,
    RunUnquarantined,
    RunRestored,
    RunReleased,
)
#: What the engine may have begun with when this is the next that it wrote.
_BEGINNINGS: dict[type[Event], tuple[str, ...]] = {
    ModelAnswered: ("ask",),
    ContextSummarized: ("ask",),
    ModelInterrupted: ("ask",),
    ModelDelayed: ("ask",),
    RunFailed: ("ask", "finish run.failed"),
    # A reviewed result ends the run by the reviewer's word, after it was asked for.
    RunSucceeded: ("finish run.succeeded",),
    ReviewRequested: ("suspend review.requested",),
    BudgetAsked: ("ask",),
    RunCancelled: ("finish run.cancelled",),
    ApprovalRequested: ("suspend approval.requested", "call", "record"),
    OutcomeRequested: ("suspend outcome.requested", "call", "record"),
    ScriptCalled: ("call", "record"),
    CallWaiting: ("call", "suspend", "record"),
    ToolStarted: ("call",),
    ToolFinished: ("call", "record", "finish run.succeeded"),
}


class ContradictionError(AssertionError):
    """The probe says something else than what the engine then wrote."""


async def points_of(kept: Kept) -> tuple[Point, ...]:
    """Decide after every event at which a slice could begin, or begin anew after a death.

    Raises:
        ContradictionError: The run itself went on in another way.
    """
    subject, journal, state = kept.subject(), kept.journal(), kept.beginning()
    waits: set[str] = set()
    points: list[Point] = []
    for index, recorded in enumerate(journal):
        state.fold(recorded)
        waits = _open(waits, recorded.event)
        if _is_over(journal, index) or not state.model or waits:
            continue
        decision = await decide(state, subject)
        if not state.open_calls() or isinstance(recorded.event, ModelAnswered):
            _compare(kept, journal, index, decision.kind)  # else calls are being served already
        points.append(Point(recorded.seq, decision.kind, decision.digest))
    return tuple(points)


def _is_over(journal: list[RecordedEvent], index: int) -> bool:
    """Whether the run has ended, or ends in the transaction that this event is part of."""
    if isinstance(journal[index].event, ToolFinished) and index + 1 < len(journal):
        return isinstance(journal[index + 1].event, RunSucceeded)  # the call that was the answer
    return isinstance(journal[index].event, Closing)


def _open(waits: set[str], event: Event) -> set[str]:
    """The waits that hold the run after this event."""
    match event:
        case (
            ApprovalRequested() | OutcomeRequested() | ModelDelayed() | RunPaused() | ChildStarted()
        ):
            return waits | {event.key}
        case CallWaiting(keys=keys):
            return waits | set(keys)
        case WaitResolved(key=key):
            return waits - {key}
        case RunForked():
            return set()
        case _:
            return waits


def _compare(kept: Kept, journal: list[RecordedEvent], index: int, kind: str) -> None:
    """What the engine wrote next is what the probe says, unless others wrote in between."""
    if index + 1 == len(journal) or isinstance(journal[index + 1].event, _OTHERS):
        return
    following = journal[index + 1].event
    if not kind.startswith(_BEGINNINGS[type(following)]):
        raise ContradictionError(
            f"{kept.shape} {kept.id} after event {index + 1} ({journal[index].event.type}): "
            f"{kind}, but then came {following.type}"
        )
