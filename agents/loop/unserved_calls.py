"""Results of calls that did not run, or of which it is unknown whether they took effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agents.errors import JournalAwayError, LeaseLostError
from agents.journal.events import ToolFinished
from agents.loop.call_state import CallState
from agents.loop.ports import PendingSuspension
from heartbit_site.base.database_faults import is_away
from heartbit_site.base.suspensions import WaitOutcome
from heartbit_site.base.toolspec import Effect

UNCERTAIN: Final = (
    "It is unknown whether this call took effect: the worker died while it ran. It was not "
    "repeated. Check before you call the tool again."
)

SKIPPED: Final = (
    "It is unknown whether this call took effect: the worker died while it ran. A person decided "
    "not to repeat it."
)
CONFIRMED: Final = "A person confirmed that this call took effect; its answer is not known."
CANCELLED_FIRST: Final = "The run was cancelled before this call began. It was not run."


def denied(call: CallState, decision: WaitOutcome) -> ToolFinished:
    """Return the result of a call that a person denied, or that was not decided in time."""
    if decision.value["status"] == "denied":
        reason = decision.value.get("reason") or "no reason given"
        text = f"A person denied this call ({reason}). It was not run; do not repeat it unchanged."
    else:
        text = "Nobody decided in time. The call was not run."
    effect = call.approval_request.effect if call.approval_request is not None else ""
    return ToolFinished(call.call_id, "refused", text, effect)


def too_many(call: CallState, most: int) -> ToolFinished:
    """Return the result of a call beyond the number of calls that one step serves."""
    text = f"At most {most} tool calls are served in one turn: ask again for the rest."
    return ToolFinished(call.call_id, "refused", text)


def decisive_error(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error of parallel calls that decides the outcome of the slice."""
    for kind in (LeaseLostError, JournalAwayError):
        found = errors.subgroup(kind)
        if found is not None:
            return kind(str(found))
    return next(filter(is_away, errors.exceptions), errors.exceptions[0])


def beyond_parallel(pending: Sequence[object], limit: int) -> list[ToolFinished]:
    """Return refusals of the calls that exceed the limit of parallel sub-agents.

    Args:
        pending: What the calls wait for, in order.
        limit: Number of sub-agents at the same time.
    """
    asked, excess = 0, []
    for call in pending:
        if not isinstance(call, PendingSuspension):
            continue
        asked += len(call.suspension.children)
        if asked > limit:
            text = f"At most {limit} sub-agents may work at once: ask again for these."
            excess.append(ToolFinished(call.call_id, "refused", text, Effect.PURE))
    return excess
