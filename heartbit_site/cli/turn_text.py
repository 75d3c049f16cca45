"""A past turn for a terminal. What models, tools and people wrote stands right of a margin."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, Final

from heartbit_site.base.effect_text import EFFECT_TEXT
from heartbit_site.base.visible_text import visible
from heartbit_site.cli.output import one_line, seconds, write
from heartbit_site.cli.question import margined

if TYPE_CHECKING:
    from collections.abc import Mapping

WIDEST: Final = 110


def print_turn(turn: Mapping[str, Any]) -> None:
    """Print everything: what was sent, what was answered, what came of the calls."""
    for line in lines(turn, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns)):
        write(line)


def lines(turn: Mapping[str, Any], width: int) -> list[str]:
    """The same, as lines."""
    request, answer = turn["request"], turn["answer"]
    said = [
        f"Run {turn['run']}: turn {turn['turn']} of {turn['turns']}, "
        f"{one_line(turn['agent'])} v{turn['version']}",
        _figures(turn),
        "",
        "The model was sent",
        "  system",
        *margined(visible(request["system"]), width),
    ]
    for number, message in enumerate(request["messages"], start=1):
        said += [f"  {number}. {_speaker(message)}", *margined(_words(message), width)]
    said += [f"  {note}" for note in _notes(request)]
    said += ["", f"It answered ({answer['finish_reason']})", *margined(_words(answer), width)]
    if turn["calls"]:
        said += ["", "Its calls gave"]
    for call in turn["calls"]:
        said += _call(call, width)
    return said


def effects(turn: Mapping[str, Any]) -> list[str]:
    """The turn's calls that do something outside, in words."""
    return [
        f"{call['call']} {one_line(call['tool'], 60)}: "
        f"{EFFECT_TEXT.get(call['effect'], 'its effect is not known')}"
        for call in turn["calls"]
        if call["effect"] != "pure"
    ]


def _figures(turn: Mapping[str, Any]) -> str:
    usage, cost = turn["usage"], turn["cost_usd"]
    cached = f" ({usage['cached_input_tokens']:,} cached)" if usage["cached_input_tokens"] else ""
    return (
        f"Asked {one_line(turn['model'])}: {usage['input_tokens']:,} tokens in{cached}, "
        f"{usage['output_tokens']:,} out; {f'${cost}' if cost is not None else 'cost unknown'}; "
        f"{seconds(turn['duration_ms'] / 1000)}; answered {turn['answered_at']}"
    )


def _speaker(message: Mapping[str, Any]) -> str:
    if message["role"] != "tool":
        return str(message["role"])
    failed = ", an error" if message["is_error"] else ""
    return f"result of {one_line(message['name'], 60)}{failed}"


def _words(message: Mapping[str, Any]) -> str:
    if message["role"] == "tool":
        return visible(message["content"])
    said = [visible(message["text"])] if message["text"] else []
    said += [
        visible(f"-> {call['name']} {call['arguments']}") for call in message.get("tool_calls", ())
    ]
    return "\n".join(said)


def _notes(request: Mapping[str, Any]) -> list[str]:
    offered = ", ".join(tool["name"] for tool in request["tools"]) or "none"
    notes = [f"tools: {offered}"]
    if request["changed_tools"]:
        changed = ", ".join(request["changed_tools"])
        notes.append(f"and, defined differently or gone since: {changed}")
    if request["left_out"]:
        notes.append(f"{request['left_out']} messages were left out to fit the context strategy")
    return notes


def _call(call: Mapping[str, Any], width: int) -> list[str]:
    effect = call["effect"].replace("_", " ")
    took = "" if call["duration_ms"] is None else f", {seconds(call['duration_ms'] / 1000)}"
    status = ", ".join(filter(None, (call["status"], effect)))
    said = [f"  {call['call']} {one_line(call['tool'], 60)}: {status}{took}"]
    decision = call["decision"]
    if decision is not None:
        by = one_line(visible(decision["by"] or "nobody"), 60)
        said.append(f"    {decision['status']} by {by}")
        for text in filter(None, (decision["reason"], decision["arguments"])):
            said += margined(visible(text), width)
    if call["runs"]:
        said.append(f"    runs: {', '.join(call['runs'])}")
    if call["result"] is not None:
        said += margined(visible(call["result"]), width)
    return said
