"""Description of a run's current activity, for every page and terminal. Pure.

Each is a predicate without a subject, such as "waits for researcher", as in ``agents.live.words``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from heartbit_site.base.amounts import counted

if TYPE_CHECKING:
    from agents.live.live_run import LiveRun
    from agents.runs.live_entries import DeltaKind


def activity(
    run: LiveRun,
    writing: DeltaKind | None = None,
    time: Callable[[datetime], str] | None = None,
) -> str:
    """Return what a run is doing, in a few words; empty if it has ended.

    Args:
        run: The run.
        writing: Kind of text that its model call streams; None: nothing so far.
        time: Formats a point in time, for surfaces that know their reader's time zone.
    """
    if run.over:
        return ""
    if run.cancelling:
        return "is being cancelled"
    match run.status:
        case "queued":
            return "queued again" if run.started_at else "queued"
        case "waiting":
            return _waiting_for(run, time)
    tools = sorted({call.tool for call in run.open_calls})
    if tools:
        return f"runs {', '.join(tools)}"
    return run.at_work(writing)


def _waiting_for(run: LiveRun, time: Callable[[datetime], str] | None) -> str:
    asked = [call.tool for call in run.calls.values() if call.asked]
    if asked:
        return f"waits until a person decides about {', '.join(asked)}"
    doubts = [call.tool for call in run.calls.values() if call.doubt]
    if doubts:
        return f"waits for a word on {', '.join(doubts)}"
    if run.pause is not None:
        reason, until = run.pause
        return f"is paused until {time(until)}: {reason}" if time else f"is paused: {reason}"
    runs = {wait["run"] for wait in run.waits.values() if "run" in wait}
    if not runs:
        reasons = [wait["for"] for wait in run.waits.values()]
        return f"waits for {reasons[0]}" if reasons else "waits"
    names = [wait["agent"] for wait in run.waits.values() if "agent" in wait] + [
        name
        for call in run.calls.values()
        for child, name in zip(call.children, call.agents, strict=False)
        if child in runs
    ]
    if len(names) != len(runs) or len(names) > 2:
        return f"waits for {counted(len(runs), 'sub-agent')}"
    return f"waits for {', '.join(names)}"
