"""What a run's live stream holds.

Deltas are keyed (turn, attempt, offset): a reader that sees a new attempt throws away what it had
of that turn, because the model call was repeated. ``Advanced`` and ``Ended`` only say that Postgres
has news; a reader that misses one finds out by its next look there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

DeltaKind = Literal["text", "thinking"]


@dataclass(frozen=True, slots=True)
class Delta:
    """Text that the model of one run just produced; ``offset`` counts characters of the attempt."""

    turn: int
    attempt: int
    offset: int
    text: str
    kind: DeltaKind = "text"


@dataclass(frozen=True, slots=True)
class Advanced:
    """The run's journal is now at ``seq`` or further."""

    seq: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The run reached a terminal state."""

    status: str


Entry = Delta | Advanced | Ended


def encode(entry: Entry) -> dict[str, str | int]:
    """The entry as the fields of a Valkey stream entry."""
    match entry:
        case Delta(turn, attempt, offset, text, kind):
            return {"t": "d", "n": turn, "a": attempt, "o": offset, "x": text, "k": kind}
        case Advanced(seq):
            return {"t": "s", "q": seq}
        case Ended(status):
            return {"t": "e", "st": status}


def decode(fields: Mapping[str, str]) -> Entry:
    """The entry of a stream entry's fields (see ``encode``)."""
    match fields["t"]:
        case "d":
            kind: DeltaKind = "thinking" if fields["k"] == "thinking" else "text"
            return Delta(int(fields["n"]), int(fields["a"]), int(fields["o"]), fields["x"], kind)
        case "s":
            return Advanced(int(fields["q"]))
        case _:
            return Ended(fields["st"])
