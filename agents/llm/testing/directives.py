"""Directives to the wire server, written into the user's text.

A directive is ``[[name: value]]``; JSON inside may hold further directives, for sub-agents::

    [[calls: current_time {}, calculate {"expression": "1+1"}]]  call these, then answer
    [[then: save {"key": "a"}]]        after those results call this too; may be repeated
    [[delegate: {"agent": "writer", "task": "Write. [[calls: clock {}]]"}, {...}]]
    [[rounds: 5]]                      repeat all calls this often before the answer
    [[text: The answer.]]              the answer; [[tokens: 200]] for a long one
    [[thinking: Hmm.]]                 reasoning before it
    [[latency: 200]] [[stream: 500]]   milliseconds before the first and over all further pieces
    [[chunks: 10]]                     pieces of the text
    [[clock: 100]]                     this many pieces, each its time of sending and ";"
    [[error: 429 retry_after=2]]       refuse; [[error: 503 page=html times=1]] only the first time;
                                       with after=2 the third refusal is the first to name a wait
    [[event: overloaded_error]]        an error event in the middle of the stream; also with times=;
                                       with held=1 it is sent on ``POST /release/<run>``
    [[cut: 300]]                       close the connection after this many bytes; also with times=
    [[hang: headers]] [[hang: stream]] send nothing at all, or nothing more; also with times=
    [[run: order-17]]                  the key of the statistics and the ledger
    [[extract: {"memories": []}]]      the answer of the run that extracts memories of this one;
                                       [[extract_latency: 200]] milliseconds before it; its run's
                                       key is that of the run, and "-memories"
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_START = re.compile(r"\[\[([a-z_]+):\s*")
_GAP = re.compile(r"[\s,]*")
_CALL_NAME = re.compile(r"([A-Za-z0-9_.-]+)\s*")
_JSON = json.JSONDecoder()

_FIGURES = {
    "rounds": ("repeat", int),
    "tokens": ("tokens", int),
    "chunks": ("chunks", int),
    "latency": ("latency_ms", float),
    "stream": ("stream_ms", float),
    "extract_latency": ("extract_latency_ms", float),
}

Call = tuple[str, dict[str, Any]]

#: Placeholder in a text for the time of sending, in seconds since 1970.
CLOCK = "@clock@"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: ``error``, ``event``, ``cut`` or ``hang``, with its options."""

    kind: str
    value: str
    options: dict[str, str]


@dataclass(slots=True)
class Script:
    """Directives of one text; None for those that are missing."""

    rounds: list[list[Call]] = field(default_factory=list)
    repeat: int = 1
    text: str | None = None
    tokens: int | None = None
    thinking: str = ""
    latency_ms: float | None = None
    stream_ms: float | None = None
    chunks: int | None = None
    fault: Fault | None = None
    run: str | None = None
    extract: dict[str, Any] | None = None
    extract_latency_ms: float | None = None


def parse_script(text: str) -> Script:
    """Parse the directives in ``text``; ignore unknown ones, since the text may be arbitrary."""
    script = Script()
    position = 0
    while start := _START.search(text, position):
        name = start[1]
        if name in ("calls", "then", "delegate"):
            calls, position = _calls(name, text, start.end())
            script.rounds.append(calls)
        elif name == "extract":
            script.extract, position = _JSON.raw_decode(text, start.end())
        else:
            end = text.find("]]", start.end())
            position = len(text) if end < 0 else end + 2
            _set(script, name, text[start.end() : position - 2].strip())
    return script


def _set(script: Script, name: str, value: str) -> None:
    match name:
        case "text":
            script.text = value
        case "thinking":
            script.thinking = value
        case "run":
            script.run = value
        case "clock":
            script.text, script.chunks = CLOCK * int(value), int(value)
        case "error" | "event" | "cut" | "hang":
            first, *options = value.split()
            script.fault = Fault(name, first, dict(option.split("=", 1) for option in options))
        case _ if name in _FIGURES:
            field_name, figure = _FIGURES[name]
            setattr(script, field_name, figure(value))


def _calls(name: str, text: str, position: int) -> tuple[list[Call], int]:
    """Parse calls up to the closing brackets; JSON is decoded, so brackets inside do not count."""
    calls: list[Call] = []
    tasks: list[dict[str, Any]] = []
    while position < len(text) and not text.startswith("]]", position):
        if name == "delegate":
            if text[position] in " ,\n":
                position += 1
                continue
            task, position = _JSON.raw_decode(text, position)
            tasks.append(task)
            continue
        gap = _GAP.match(text, position)
        position = position if gap is None else gap.end()
        call = _CALL_NAME.match(text, position)
        if call is None:
            position += not text.startswith("]]", position)
            continue
        arguments: dict[str, Any] = {}
        position = call.end()
        if text.startswith("{", position):
            arguments, position = _JSON.raw_decode(text, position)
        calls.append((call[1], arguments))
    if tasks:
        calls.append(("delegate_task", {"tasks": tasks}))
    return calls, position + 2
