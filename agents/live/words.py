"""Descriptions of a run's events, for every page, list and terminal. Pure.

A title states what the run did or what happened to it, without naming the run ("started with
openai:gpt-5-mini"): a terminal prefixes the agent's name, a page uses it as a heading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from agents.journal import events
from agents.journal.phrase import Phrase
from agents.journal.waits import kind_of
from heartbit_site.base.amounts import counted, duration, money
from heartbit_site.base.tone import Tone
from heartbit_site.base.visible_text import readable_json, visible

if TYPE_CHECKING:
    Namer = Callable[[str], str]


#: Note on a message by a person other than the run's.
SHARED: Final = "works for no person from here on: without personal memories and credentials"

#: Advice on a run that was in flight in a backup.
HELD: Final = (
    "It may have continued since that backup, elsewhere. Look what it has done, then release it "
    "(`heartbit runs release`) or cancel it."
)


def say(event: events.Event, name_of: Namer) -> Phrase:
    """Describe an event.

    Args:
        event: The event.
        name_of: Returns the name of a tool call of the run, given its id.
    """
    return (
        _say_run(event)
        or _say_restored(event)
        or _say_end(event)
        or _say_model(event)
        or _say_call(event, name_of)
    )


def heading(text: str) -> str:
    """Return a predicate with a capital letter."""
    return text[:1].upper() + text[1:]


def _say_run(event: events.Event) -> Phrase | None:
    match event:
        case events.RunCreated(task=task, agent=agent):
            return Phrase(f"accepted for {agent}", task, "add_circle")
        case events.RunForked(turn=turn, edits=edits, by=by):
            title = f"forked from another run after turn {turn}{_by(by)}"
            text = readable_json(edits) if edits else ""
            return Phrase(title, text, "call_split", "primary", "earlier events are copied")
        case events.RunStarted(worker=worker, model=model):
            title = f"started with {model}" if model else "started"
            return Phrase(title, "", "play_circle", "info", f"by {worker}")
        case events.RunRequeued(reason=reason):
            return Phrase(f"back in the queue: {reason}", "", "replay", "warning")
        case events.MemoriesRecalled(memories=memories, provided=provided, provider=provider):
            count = len(memories) + provided
            title = "recalled 1 memory" if count == 1 else f"recalled {count} memories"
            note = f"by {provider}" if provider else ""
            return Phrase(title, "", "psychology", "info", note)
        case events.MemoriesExtracted() as stored:
            return Phrase(stored.summary, "", "psychology", "success")
        case events.RunSteered(text=text, by=by, other_person=other):
            name = visible(by) or "somebody"
            return Phrase(f"told by {name}", text, "campaign", "primary", SHARED if other else "")
        case events.CancelRequested(reason=reason):
            return Phrase("is being cancelled", reason, "stop_circle", "warning")
        case events.RunUnquarantined(by=by):
            return Phrase(f"let go on{_by(by)}", "", "restart_alt", "primary")
        case _:
            return None


def _say_restored(event: events.Event) -> Phrase | None:
    match event:
        case events.RunRestored(made_at=made_at):
            title = f"restored from the backup of {visible(made_at[:16])}"
            return Phrase(title, HELD, "settings_backup_restore", "warning")
        case events.RunReleased(by=by):
            return Phrase(f"released{_by(by)}", "", "restart_alt", "primary")
        case _:
            return None


def _say_end(event: events.Event) -> Phrase | None:
    match event:
        case events.RunSucceeded(finish_reason=reason, left_out=left_out):
            # The turn before it has the text.
            note = "the answer was cut at max_tokens" if reason == "length" else ""
            tone: Tone = "warning" if left_out else "success"
            title = "succeeded in part" if left_out else "succeeded"
            return Phrase(title, left_out, "check_circle", tone, note)
        case events.RunFailed(message=message):
            return Phrase("failed", message, "error", "danger")
        case events.RunCancelled(reason=reason, partial=partial):
            title = f"cancelled: {reason}" if reason else "cancelled"
            return Phrase(title, partial, "cancel", "warning")
        case events.RunQuarantined(attempts=attempts):
            times = counted(attempts, "time")
            text = f"Its workers crashed {times} without progress, so the run is quarantined."
            title = f"quarantined after {counted(attempts, 'attempt')}"
            return Phrase(title, text, "block", "danger")
        case events.RunDiscarded(by=by):
            return Phrase(f"discarded{_by(by)}", "", "delete", "warning")
        case _:
            return None


def _say_model(event: events.Event) -> Phrase | None:
    match event:
        case events.ModelAnswered(turn=turn, message=message):
            calls = message.tool_calls
            names = ", ".join(visible(call.name) for call in calls)
            written = [visible(f"{call.name} {call.arguments}") for call in calls]
            text = "\n".join([message.text, *written] if message.text else written)
            title = f"asked for {names}" if calls else "answered"
            return Phrase(title, text, "smart_toy", "primary", f"turn {turn}, {_figures(event)}")
        case events.ModelDelayed(reason=reason) | events.RunPaused(reason=reason):
            title = f"is paused for {duration(timedelta(seconds=event.delay_seconds))}"
            note = f"turn {event.turn}" if isinstance(event, events.ModelDelayed) else ""
            return Phrase(title, visible(reason), "hourglass_top", "warning", note)
        case events.ModelInterrupted(turn=turn, reason=reason):
            note = f"turn {turn}, {_figures(event)}"
            return Phrase("got half an answer", visible(reason), "content_cut", "warning", note)
        case events.ContextSummarized(upto=upto, text=text):
            title = f"summed up {counted(upto - 1, 'earlier message')}"
            return Phrase(title, text, "compress", "info", _figures(event))
        case _:
            return None


def _say_call(event: events.Event, name_of: Namer) -> Phrase:
    match event:
        case events.ToolStarted(call_id=call_id, effect=effect):
            return Phrase(
                f"about to run {_name(call_id, name_of)}", "", "pending", "info", _of(effect)
            )
        case events.ToolFinished(call_id=call_id, status=status, content=content):
            name, is_ok = _name(call_id, name_of), status == "ok"
            took = duration(timedelta(milliseconds=event.duration_ms)) if event.duration_ms else ""
            grant = "" if event.grant is None else f"by standing permission {event.grant}"
            note = ", ".join(filter(None, (took, grant)))
            title = f"ran {name}" if is_ok else f"{status}: {name}"
            return Phrase(title, content, "build", "success" if is_ok else "warning", note)
        case events.ScriptCalled(call_id=call_id, calls=calls, duration_ms=took):
            names = ", ".join(dict.fromkeys(visible(call.name) for call in calls))
            text = "\n".join(visible(f"{call.name} {call.arguments}") for call in calls)
            title = f"called {names} from the script of {_name(call_id, name_of)}"
            return Phrase(title, text, "code", "info", duration(timedelta(milliseconds=took)))
        case events.CallWaiting(call_id=call_id, kind=kind, runs=runs):
            note = counted(len(runs), "sub-agent") if runs else kind_of(kind).waits_for
            title = f"waits for {_name(call_id, name_of)}"
            return Phrase(title, "", "hourglass_top", "primary", note)
        case events.ChildStarted(agent=agent):
            return Phrase(
                f"waits for {visible(agent)}", "", "hourglass_top", "primary", "1 sub-agent"
            )
        case events.WaitResolved(kind=kind, call_id=call_id, value=value):
            said = kind_of(kind).describe(value, _name(call_id, name_of) if call_id else "")
            return replace(said, note=SHARED) if value.get("other_person") else said
        case _:
            return _say_question(event, name_of)


def _say_question(event: events.Event, name_of: Namer) -> Phrase:
    match event:
        case events.ApprovalRequested(call_id=call_id, effect=effect):
            title = f"asks for approval of {_name(call_id, name_of)}"
            text = f"{event.reason}\n{readable_json(event.arguments)}"
            return Phrase(title, text, "back_hand", "warning", _of(effect))
        case events.ApprovalEscalated(call_id=call_id, group=group):
            people = visible(group) or "everyone who may decide"
            about = _name(call_id, name_of) if call_id else "the result"
            title = f"no one decided about {about} in time: escalated to {people}"
            return Phrase(title, "", "back_hand", "warning")
        case events.ApprovalLapsed(call_id=call_id, reason=reason):
            title = f"did not run {_name(call_id, name_of)}: it needs a new approval"
            return Phrase(title, visible(reason), "block", "warning")
        case events.OutcomeRequested(call_id=call_id):
            title = f"waits for the outcome of {_name(call_id, name_of)}, which is uncertain"
            return Phrase(title, "", "help", "warning")
        case _:
            return event.phrase(name_of)


def _figures(
    event: events.ModelAnswered | events.ModelInterrupted | events.ContextSummarized,
) -> str:
    used = event.usage
    figures = [f"{used.input_tokens:,} in", f"{used.output_tokens:,} out"]
    figures.append(duration(timedelta(milliseconds=event.duration_ms)))
    if event.cost_usd is not None:
        figures.append(money(Decimal(event.cost_usd)))
    return ", ".join(figures)


def _name(call_id: str, name_of: Namer) -> str:
    return visible(name_of(call_id) or f"call {call_id}")


def _of(effect: str) -> str:
    return effect.replace("_", " ")


def _by(name: str) -> str:
    return f" by {visible(name)}" if name else ""
