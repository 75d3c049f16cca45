"""Review of a run's result: the run suspends with its result, and ends as the reviewer decides."""

from __future__ import annotations

from typing import Any

from agents.journal.events import Ending, Event, ReviewRequested, RunFailed, RunSucceeded
from agents.loop.journaled import JournaledState
from agents.loop.protocol import Outcome
from agents.loop.state import RunState
from agents.output.text import as_text


async def end_run(
    journaled: JournaledState[Any],
    ending: RunSucceeded | RunFailed,
    *events: Event,
    can_continue: bool = False,
    response_schema: dict[str, Any] | None = None,
) -> Outcome | None:
    """End a run, or suspend it if people review its result first.

    Args:
        journaled: The run.
        ending: Its end; a failure is not reviewed.
        events: Events before its end.
        can_continue: True if the run can take up requested changes.
        response_schema: JSON Schema of a structured result.

    Returns:
        Outcome of the slice; None after a conflict: the engine must decide again.
    """
    state: RunState = journaled.state
    policy = state.review
    if policy is None or isinstance(ending, RunFailed):
        return await _finish(journaled, ending, *events)
    requested = ReviewRequested(
        state.reviews + 1,
        ending.output,
        policy.by,
        ending.structured,
        ending.finish_reason,
        ending.left_out,
        policy.timeout_seconds,
        policy.escalate_seconds,
        can_continue,
        response_schema if ending.structured is not None else None,
    )
    return "suspended" if await journaled.suspend(requested, first=events) else None


async def end_by_people(journaled: JournaledState[Any]) -> Outcome | None:
    """End a run that was cancelled, or whose result was reviewed or not in time; else None."""
    while True:
        if journaled.state.cancel_reason is not None:
            await journaled.cancel()
            return "cancelled"
        requested = journaled.state.proposed
        outcome = None if requested is None else journaled.state.resolved.get(requested.key)
        if requested is None or outcome is None:
            return None
        ended = await _finish(journaled, _reviewed(requested, outcome.value))
        if ended is not None:
            return ended


def _reviewed(requested: ReviewRequested, value: dict[str, Any]) -> RunSucceeded | RunFailed:
    proposed, answer, by = requested.ending, value.get("answer") or {}, str(value.get("by", ""))
    match answer.get("decision"):
        case "approve":
            return _signed(proposed, by)
        case "edit":
            return _signed(_edited(proposed, answer["result"]), by, is_edited=True)
        case "reject":
            reason = answer.get("message", "")
            message = f"{by} rejected the result{f': {reason}' if reason else '.'}"
            return RunFailed("review", message)
    return RunFailed("review", "No one reviewed the result in time.")


def _edited(proposed: RunSucceeded, result: Any) -> RunSucceeded:
    structured = None if proposed.structured is None else result
    return RunSucceeded(as_text(result), proposed.finish_reason, structured, proposed.left_out)


def _signed(ending: RunSucceeded, by: str, *, is_edited: bool = False) -> RunSucceeded:
    return RunSucceeded(
        ending.output,
        ending.finish_reason,
        ending.structured,
        ending.left_out,
        reviewed_by=by,
        is_edited=is_edited,
    )


async def _finish(journaled: JournaledState[Any], ending: Ending, *events: Event) -> Outcome | None:
    if not await journaled.finish(ending, *events):
        return None
    return "succeeded" if isinstance(ending, RunSucceeded) else "failed"
