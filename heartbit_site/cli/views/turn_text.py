"""A past turn for a terminal. What models, tools and people wrote stands right of a margin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from heartbit_site.base.amounts import duration
from heartbit_site.base.effect_text import EFFECT_TEXT
from heartbit_site.base.visible_text import visible
from heartbit_site.cli.terminal.margin import margined, text_width
from heartbit_site.cli.terminal.output import one_line, write
from heartbit_site.cli.terminal.table import print_view

if TYPE_CHECKING:
    from heartbit_site.contract.calls import CallOut
    from heartbit_site.contract.turns import Message, TurnCallOut, TurnOut, TurnRequestOut


def print_turn(turn: TurnOut) -> int:
    """Print what was sent, what was answered and what came of the calls; return the exit code."""
    return print_view(turn, lambda: write("\n".join(lines(turn, text_width()))))


def lines(turn: TurnOut, width: int) -> list[str]:
    """Return a turn as lines."""
    request, answer = turn.request, turn.answer
    said = [
        f"Run {turn.run_id}: turn {turn.number} of {turn.turn_count}, "
        f"{one_line(turn.agent)} v{turn.version}",
        _figures(turn),
        "",
        "The model was sent",
        "  system",
        *margined(visible(request.system), width),
    ]
    for number, message in enumerate(request.messages, start=1):
        said += [f"  {number}. {_speaker(message)}", *margined(_words(message), width)]
    said += [f"  {note}" for note in _notes(request)]
    said += ["", f"It answered ({answer.finish_reason})", *margined(_words(answer), width)]
    if turn.calls:
        said += ["", "Its calls gave"]
    for call in turn.calls:
        said += _call(call, width)
    return said


def effects(calls: Iterable[TurnCallOut | CallOut]) -> list[str]:
    """Return those of the calls that do something outside, in words."""
    return [
        f"{call.call_id} {one_line(call.tool, 60)}: "
        f"{EFFECT_TEXT.get(call.effect, 'its effect is not known')}"
        for call in calls
        if call.effect != "pure"
    ]


def _figures(turn: TurnOut) -> str:
    usage, cost = turn.usage, turn.cost_usd
    cached = f" ({usage.cached_input_tokens:,} cached)" if usage.cached_input_tokens else ""
    return (
        f"Asked {one_line(turn.model)}: {usage.input_tokens:,} tokens in{cached}, "
        f"{usage.output_tokens:,} out; {f'${cost}' if cost is not None else 'cost unknown'}; "
        f"{duration(turn.duration_ms / 1000)}; answered {turn.answered_at.isoformat()}"
    )


def _speaker(message: Message) -> str:
    if message.role != "tool":
        return message.role
    failed = ", an error" if message.is_error else ""
    return f"result of {one_line(message.name, 60)}{failed}"


def _words(message: Message) -> str:
    if message.role == "tool":
        return visible(message.content)
    said = [visible(message.text)] if message.text else []
    calls = message.tool_calls if message.role == "assistant" else []
    said += [visible(f"-> {call.name} {call.arguments}") for call in calls]
    return "\n".join(said)


def _notes(request: TurnRequestOut) -> list[str]:
    offered = ", ".join(tool.name for tool in request.tools) or "none"
    notes = [f"tools: {offered}"]
    if request.changed_tools:
        changed = ", ".join(request.changed_tools)
        notes.append(f"defined differently or gone since: {changed}")
    if request.omitted_messages:
        notes.append(
            f"{request.omitted_messages} messages were left out to fit the context strategy"
        )
    return notes


def _call(call: TurnCallOut, width: int) -> list[str]:
    effect = call.effect.replace("_", " ")
    took = "" if call.duration_ms is None else f", {duration(call.duration_ms / 1000)}"
    status = ", ".join(filter(None, (call.status, effect)))
    said = [f"  {call.call_id} {one_line(call.tool, 60)}: {status}{took}"]
    decision = call.decision
    if decision is not None:
        by = one_line(visible(decision.by or "nobody"), 60)
        said.append(f"    {decision.status} by {by}")
        for text in filter(None, (decision.reason, decision.arguments)):
            said += margined(visible(text), width)
    if call.runs:
        said.append(f"    runs: {', '.join(call.runs)}")
    if call.result is not None:
        said += margined(visible(call.result), width)
    return said
