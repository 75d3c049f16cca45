"""Progress as plain lines, for logs and pipes: one fact a line, no control characters."""

from __future__ import annotations

import json
from functools import singledispatch
from typing import TYPE_CHECKING, Any, Final

from agents import events
from agents.live.updates import Happened, Update
from heartbit_site.cli.output import one_line, seconds
from heartbit_site.cli.run_view import CallView, RunView, brief_arguments

if TYPE_CHECKING:
    from heartbit_site.cli.tree import Tree

NAME_WIDTH: Final = 13


def lines(tree: Tree, update: Update) -> list[str]:
    """What to write about an update that the tree has just taken in."""
    if not isinstance(update, Happened):
        return []
    run = tree.runs[update.run_id]
    return [_line(run, text) for text in _say(update.recorded.event, run)]


def standing(tree: Tree) -> list[str]:
    """What the runs at work are doing, for when nothing has happened for a while."""
    at_work = [run for _, run in tree.walk() if not run.over]
    return [_line(run, f"{tree.activity(run)} ...") for run in at_work]


def _line(run: RunView, text: str) -> str:
    return f"{one_line(run.agent, 40):<{NAME_WIDTH}} {text}"


@singledispatch
def _say(event: Any, run: RunView) -> list[str]:
    return []


@_say.register
def _(event: events.RunStarted, run: RunView) -> list[str]:
    return ["goes on"] if run.turn else [f"started with {one_line(event.model, 60)}"]


@_say.register
def _(event: events.RunRequeued, run: RunView) -> list[str]:
    return [f"went back to the queue: {one_line(event.reason, 100)}"]


@_say.register
def _(event: events.ModelAnswered, run: RunView) -> list[str]:
    took = f"{event.usage.output_tokens} tokens, {seconds(event.duration_ms / 1000)}"
    calls = [call for call in run.calls if call.call_id.startswith(f"{event.turn}.")]
    if not calls:
        return [f"answered ({took})"]
    return [f"asked for {', '.join(one_line(call.tool, 40) for call in calls)} ({took})"]


@_say.register
def _(event: events.ToolFinished, run: RunView) -> list[str]:
    call = next((call for call in run.calls if call.call_id == event.call_id), None)
    return [_finished(call)] if call is not None else []


@_say.register
def _(event: events.CallWaiting, run: RunView) -> list[str]:
    call = next((call for call in run.calls if call.call_id == event.call_id), None)
    subject = one_line(brief_arguments(call), 100) if call is not None else ""
    return [f"waits for {subject or 'something'}"]


@_say.register
def _(event: events.ApprovalRequested, run: RunView) -> list[str]:
    arguments = one_line(json.dumps(event.arguments, ensure_ascii=False), 100)
    subject = f"{one_line(event.tool, 40)} {arguments}"
    return [f"asks whether it may use {subject} ({event.effect})"]


@_say.register
def _(event: events.ApprovalEscalated, run: RunView) -> list[str]:
    return [f"asks more people: {one_line(event.group, 100) or 'everybody who may decide'}"]


@_say.register
def _(event: events.DecisionLapsed, run: RunView) -> list[str]:
    return [f"did not run it: {one_line(event.reason, 200)}"]


@_say.register
def _(event: events.OutcomeAsked, run: RunView) -> list[str]:
    return [f"waits for a word on {one_line(event.tool, 40)}: nobody knows what became of it"]


@_say.register
def _(event: events.WaitResolved, run: RunView) -> list[str]:
    call = run.asked_by(event.key)
    if call is None:
        return []
    return [f"{one_line(call.tool, 40)} was {one_line(call.decided, 100)}"]


@_say.register
def _(event: events.ModelDelayed, run: RunView) -> list[str]:
    until = run.pause[1] if run.pause else None
    when = f" until {until.astimezone():%H:%M:%S}" if until else ""
    return [f"is paused for {seconds(event.delay_seconds)}{when}: {one_line(event.reason, 200)}"]


@_say.register
def _(event: events.ModelCut, run: RunView) -> list[str]:
    return [one_line(run.remark, 200)]


@_say.register
def _(event: events.ContextSummarized, run: RunView) -> list[str]:
    took = f"{event.usage.output_tokens} tokens, {seconds(event.duration_ms / 1000)}"
    return [f"{one_line(run.remark, 100)} ({took})"]


@_say.register
def _(event: events.RunSteered, run: RunView) -> list[str]:
    return [one_line(run.remark, 200)]


@_say.register
def _(event: events.CancelRequested, run: RunView) -> list[str]:
    return ["is being cancelled"]


@_say.register
def _(event: events.RunSucceeded, run: RunView) -> list[str]:
    return [f"succeeded in {_elapsed(run)}"]


@_say.register
def _(event: events.RunFailed, run: RunView) -> list[str]:
    if run.parent_id is None:
        return [f"failed after {_elapsed(run)}"]  # why is the command's last line
    return [f"failed: {one_line(event.message, 300)}"]


@_say.register
def _(event: events.RunCancelled, run: RunView) -> list[str]:
    return ["was cancelled"]


@_say.register
def _(event: events.RunQuarantined, run: RunView) -> list[str]:
    return [f"was quarantined after {event.attempts} attempts"]


@_say.register
def _(event: events.RunRevived, run: RunView) -> list[str]:
    return [one_line(run.remark, 200)]


@_say.register
def _(event: events.RunDiscarded, run: RunView) -> list[str]:
    return [f"was discarded{f' by {one_line(event.by, 60)}' if event.by else ''}"]


def _elapsed(run: RunView) -> str:
    return seconds(run.elapsed(run.finished_at)) if run.finished_at else "no time"


def _finished(call: CallView) -> str:
    arguments = one_line(brief_arguments(call), 80)
    subject = f"tool {one_line(call.tool, 40)}" + (f" {arguments}" if arguments else "")
    if call.tool == "delegate_task" and call.status == "ok":
        return f"has the results of {arguments}"
    result = one_line(call.result, 120)
    if call.status != "ok":
        result = f"{call.status}: {result}"
    if call.granted:
        subject += " (by a standing permission)"
    return f"{subject} -> {result} ({seconds(call.duration_ms / 1000)})"
