"""The journal for people: each event as a line with what matters of its payload."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agents import events
from agents.admin.words import counted, duration, money
from agents.choices import Outcome, Verdict
from heartbit_site.base.visible_text import readable_json, visible

if TYPE_CHECKING:
    from datetime import datetime

    from agents.llm.messages import ToolCall
    from agents.models import RunEvent
    from heartbit_site.base.admin.themed import Tone

_PREVIEW = 1_200  # characters; the whole text is in the payload below it


@dataclass(frozen=True, slots=True)
class Said:
    """What a line says: a sentence of ours, and text of the model, a tool or a person."""

    title: str
    text: str = ""
    icon: str = "circle"
    tone: Tone = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """One event of the journal, ready to be shown.

    Attributes:
        since: How long after the run was accepted; empty for what a fork copied.
        turn: The number of the turn that it answers, if it does.
    """

    seq: int
    type: str
    at: datetime
    since: str
    said: Said
    payload: str
    turn: int = 0


def line(row: RunEvent, *, began: datetime, tools: dict[str, str]) -> Line:
    """Make an event readable.

    Args:
        row: The event.
        began: When the run was accepted; times are shown from there.
        tools: The tool's name by call id.
    """
    try:
        said = _say(events.decode(row.type, row.payload), tools)
    except (KeyError, ValidationError):  # written by another version of Heartbit
        said = Said(row.type, icon="help")
    text = said.text[:_PREVIEW] + " …" if len(said.text) > _PREVIEW else said.text
    said = Said(said.title, text, said.icon, said.tone, said.note)
    since = f"+{duration(row.at - began)}" if row.at >= began else ""
    turn = row.payload.get("turn", 0) if row.type == events.ModelAnswered.type else 0
    return Line(row.seq, row.type, row.at, since, said, readable_json(row.payload), turn)


def _say(event: events.Event, tools: dict[str, str]) -> Said:
    return _say_run(event) or _say_call(event, tools)


def _say_run(event: events.Event) -> Said | None:
    match event:
        case events.RunCreated(task=task, agent=agent):
            return Said(f"Accepted for {agent}", task, "add_circle")
        case events.RunStarted(worker=worker, model=model):
            return Said(f"{worker} took it", icon="play_circle", tone="info", note=model)
        case events.RunRequeued(reason=reason):
            return Said(f"Back in the queue: {reason}", icon="replay", tone="warning")
        case events.RunSteered(text=text, by=by):
            return Said(f"{by or 'Somebody'} told it something", text, "campaign", "primary")
        case events.CancelRequested(reason=reason):
            return Said("Asked to stop", reason, "stop_circle", "warning")
        case events.RunSucceeded(finish_reason=reason):  # the turn before it has the text
            note = "the answer was cut at max_tokens" if reason == "length" else ""
            return Said("Answered", "", "check_circle", "success", note)
        case events.RunFailed(message=message):
            return Said("Failed", message, "error", "danger")
        case events.RunCancelled(reason=reason, partial=partial):
            return Said(f"Cancelled: {reason}", partial, "cancel", "warning")
        case events.RunQuarantined(attempts=attempts):
            return Said(f"Quarantined after {attempts} deaths", icon="block", tone="danger")
        case _:
            return None


def _say_call(event: events.Event, tools: dict[str, str]) -> Said:
    match event:
        case events.ModelAnswered():
            return _answer(event)
        case events.ToolStarted(call_id=call_id):
            name = _name(call_id, tools)
            return Said(
                f"About to call {name}", icon="pending", tone="info", note=_words(event.effect)
            )
        case events.ToolFinished(call_id=call_id, status=status, content=content):
            took = f"{event.duration_ms} ms" if event.duration_ms else ""
            if event.grant is not None:
                took = f"{took} · " * bool(took) + f"by grant {event.grant}"
            tone: Tone = "success" if status == "ok" else "warning"
            return Said(f"{_name(call_id, tools)}: {status}", content, "build", tone, note=took)
        case events.CallWaiting(call_id=call_id, keys=keys):
            title = f"{_name(call_id, tools)} waits for {counted(len(keys), 'sub-agent')}"
            return Said(title, icon="hourglass_top", tone="primary")
        case events.ApprovalRequested(call_id=call_id):
            title = f"{_name(call_id, tools)} waits for approval"
            text = f"{event.reason}\n{readable_json(event.arguments)}"
            return Said(title, text, "back_hand", "warning", _words(event.effect))
        case events.WaitResolved(key=key, value=value):
            return _resolved(key, value, tools)
        case _:
            return _say_rest(event, tools)


def _say_rest(event: events.Event, tools: dict[str, str]) -> Said:
    match event:
        case events.RunForked(turn=turn, edits=edits, by=by):
            title = f"{visible(by) or 'Somebody'} forked it after turn {turn}"
            text = "" if not edits else readable_json(edits)
            return Said(title, text, "call_split", "primary", "all above is the other run's")
        case events.OutcomeAsked(call_id=call_id):
            title = f"Nobody knows what became of {_name(call_id, tools)}: a person is asked"
            return Said(title, icon="help", tone="warning")
        case events.ApprovalEscalated(call_id=call_id, group=group):
            people = visible(group) or "everybody who may decide"
            title = f"{_name(call_id, tools)}: escalated to {people}"
            return Said(title, "Nobody has decided in time.", "back_hand", "warning")
        case events.DecisionLapsed(call_id=call_id, reason=reason):
            title = f"{_name(call_id, tools)} was not run: it is asked about again"
            return Said(title, visible(reason), "block", "warning")
        case events.RunRevived(by=by):
            title = f"{visible(by) or 'Somebody'} let it go on"
            return Said(title, icon="restart_alt", tone="primary")
        case events.RunDiscarded(by=by):
            return Said(f"{visible(by) or 'Somebody'} discarded it", icon="delete", tone="warning")
        case events.ModelDelayed(turn=turn, reason=reason):
            title = f"Turn {turn}: the model is asked again in {_pause(event.delay_seconds)}"
            return Said(title, reason, "hourglass_top", "warning")
        case events.ModelCut(turn=turn, reason=reason):
            title = f"Turn {turn}: the model's answer was cut off"
            return Said(title, visible(reason), "content_cut", "warning", _figures(event))
        case events.ContextSummarized(upto=upto, text=text):
            title = f"{counted(upto - 1, 'older message')} replaced by a summary"
            return Said(title, text, "compress", "info", _figures(event))
        case _:
            return Said(event.type)


def _answer(event: events.ModelAnswered) -> Said:
    asked = event.message.tool_calls
    title = f"Turn {event.turn}: " + (_asked(asked) if asked else "the model answered")
    text = [event.message.text] if event.message.text else []
    text += [visible(f"{call.name} {call.arguments}") for call in asked]
    return Said(title, "\n".join(text), "smart_toy", "primary", _figures(event))


def _figures(event: events.ModelAnswered | events.ModelCut | events.ContextSummarized) -> str:
    """What a model call took."""
    used = event.usage
    figures = [
        f"{used.input_tokens:,} in · {used.output_tokens:,} out",
        f"{event.duration_ms:,} ms",
    ]
    if event.cost_usd is not None:
        figures.append(money(Decimal(event.cost_usd)))
    return " · ".join(figures)


def _words(effect: str) -> str:
    return effect.replace("_", " ")


def _pause(seconds: float) -> str:
    return duration(timedelta(seconds=seconds))


def _asked(calls: tuple[ToolCall, ...]) -> str:
    if len(calls) == 1:
        return f"the model called {visible(calls[0].name)}"
    return f"{len(calls)} tool calls"


def _resolved(key: str, value: dict[str, object], tools: dict[str, str]) -> Said:
    kind, _, subject = key.partition(":")
    match kind:
        case "approval":
            return _decided(_name(subject.partition(":")[0], tools), value)
        case "outcome":
            return _settled(_name(subject.partition(":")[0], tools), value)
        case "timer":
            return Said("The pause is over", icon="timer", tone="info")
    status = str(value.get("status", "ended"))
    error = value.get("error")
    text = error.get("message", "") if isinstance(error, dict) else value.get("output")
    tone: Tone = "success" if status == "succeeded" else "warning"
    return Said(f"{value.get('subject', 'It')}: {status}", str(text or ""), "call_merge", tone)


def _decided(call: str, value: dict[str, object]) -> Said:
    by = visible(str(value.get("by", "somebody")))
    match value.get("status"):
        case Verdict.APPROVED:
            return Said(f"{by} approved {call}", icon="check", tone="success")
        case Verdict.EDITED:
            arguments = visible(str(value.get("arguments") or ""))
            title = f"{by} approved {call} with other arguments"
            return Said(title, arguments, "edit", "success")
        case Verdict.ANSWERED:
            arguments = visible(str(value.get("arguments") or ""))
            return Said(f"{by} answered {call}", arguments, "reply", "success")
        case Verdict.DENIED:
            reason = visible(str(value.get("reason") or ""))
            return Said(f"{by} denied {call}", reason, "block", "warning")
        case status:  # its run ended first
            return Said(f"{call} was not decided: {status}", icon="block", tone="warning")


def _settled(call: str, value: dict[str, object]) -> Said:
    by = visible(str(value.get("by", "somebody")))
    match value.get("status"):
        case Outcome.RETRIED:
            return Said(f"{by} lets {call} be made again", icon="replay", tone="warning")
        case Outcome.DONE:
            result = visible(str(value.get("result") or ""))
            return Said(f"{by} says that {call} took effect", result, "check", "success")
        case Outcome.SKIPPED:
            return Said(f"{by} leaves {call} as it is", icon="redo", tone="warning")
        case status:  # its run ended first
            return Said(f"{call} was not settled: {status}", icon="block", tone="warning")


def _name(call_id: str, tools: dict[str, str]) -> str:
    return f"{visible(tools.get(call_id, 'call'))} ({call_id})"
