"""Entries of a run's live stream.

Deltas are keyed (turn, attempt, offset): a reader that sees a new attempt discards its text of
that turn, because the model call was repeated. ``JournalAdvanced`` and ``RunEnded`` only announce
changes in Postgres; a reader that misses one finds the change with its next poll.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

DeltaKind = Literal["text", "thinking"]
#: Maximum size of an end that is pushed to waiting callers; they read a longer one from Postgres.
PUSHED_BYTES: Final = 262_144


@dataclass(frozen=True, slots=True)
class Delta:
    """Text that the model of one run just produced; ``offset`` counts characters of the attempt."""

    turn: int
    attempt: int
    offset: int
    text: str
    kind: DeltaKind = "text"


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress message of a running tool; replaces the call's previous message."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class JournalAdvanced:
    """The run's journal is now at ``seq`` or further."""

    seq: int


@dataclass(frozen=True, slots=True)
class RunEnd:
    """End of a run, as needed by callers that wait for it.

    Attributes:
        status: A terminal status.
        output: The answer, or its part before a failure.
        structured: The answer according to the response schema, if there is one.
        error: ``{kind, message, limit}`` of a run that failed.
    """

    pk: UUID
    status: str
    output: str | None
    structured: Any
    error: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run reached a terminal state.

    Attributes:
        end: Details for waiting callers; not part of the stream's entry.
    """

    status: str
    end: RunEnd | None = None


Entry = Delta | Progress | JournalAdvanced | RunEnded


def encode(entry: Entry) -> dict[str, str | int]:
    """Return the fields of a Valkey stream entry for ``entry``."""
    match entry:
        case Delta(turn, attempt, offset, text, kind):
            return {"t": "d", "n": turn, "a": attempt, "o": offset, "x": text, "k": kind}
        case Progress(call_id, text):
            return {"t": "p", "c": call_id, "x": text}
        case JournalAdvanced(seq):
            return {"t": "s", "q": seq}
        case RunEnded(status):
            return {"t": "e", "st": status}


def decode(fields: Mapping[str, str]) -> Entry:
    """Return the entry of a Valkey stream entry's fields (see ``encode``)."""
    match fields["t"]:
        case "d":
            kind: DeltaKind = "thinking" if fields["k"] == "thinking" else "text"
            return Delta(int(fields["n"]), int(fields["a"]), int(fields["o"]), fields["x"], kind)
        case "p":
            return Progress(fields["c"], fields["x"])
        case "s":
            return JournalAdvanced(int(fields["q"]))
        case "e":
            return RunEnded(fields["st"])
        case _:  # from a newer Heartbit
            return JournalAdvanced(0)


def encode_end(ended: RunEnded) -> str:
    """Return the end of a run as pushed to waiting callers; empty: they read Postgres."""
    end = ended.end
    if end is None or len(end.output or "") > PUSHED_BYTES:
        return ""
    text = json.dumps([end.status, end.output, end.structured, end.error])
    return text if len(text) <= PUSHED_BYTES else ""


def decode_end(run_id: UUID, text: str) -> RunEnd | None:
    """Return the pushed end (see ``encode_end``); None: read it from Postgres."""
    if not text:
        return None
    status, output, structured, error = json.loads(text)
    return RunEnd(run_id, status, output, structured, error)
