"""What the witnesses in the workers saw, held against the journals. Pure but for the reading.

Each claim of a run raises its token. A write is stale when a later claim had been made before it;
one that was accepted stands in the journal behind that claim's own event.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tests.chaos.records import Run

#: Written by whoever wants a run to change, not by its worker; a claim is a write of its own.
_OTHERS = frozenset(
    {"run.created", "run.requeued", "run.cancel_requested", "run.steered", "wait.resolved"}
)


@dataclass(frozen=True, slots=True)
class Write:
    """A write that a worker tried.

    Attributes:
        what: The journal's function, or ``claim``.
        token: What it named; for a claim, what it got.
        seq: Where the journal ended after it; None when it was refused, or appended nothing.
        accepted: None when the writer was stopped before it knew.
    """

    at: float
    pid: int
    what: str
    run: str
    token: int
    seq: int | None
    accepted: bool | None


def read(directory: Path) -> tuple[Write, ...]:
    """Everything that was testified, in order of time."""
    lines = (
        json.loads(line)
        for file in directory.glob("*.jsonl")
        for line in file.read_text().splitlines()
        if line.endswith("}")  # a process that was killed may have left half a line
    )
    return tuple(sorted((Write(**line) for line in lines), key=lambda write: write.at))


def stale(writes: Iterable[Write]) -> tuple[list[Write], list[Write]]:
    """The writes under a token that another claim had replaced: accepted ones, refused ones."""
    of_run: dict[str, list[Write]] = defaultdict(list)
    for write in writes:
        of_run[write.run].append(write)
    accepted: list[Write] = []
    refused: list[Write] = []
    for mine in of_run.values():
        claims = [write for write in mine if write.what == "claim"]
        for write in mine:
            if write.what == "claim":
                continue
            later = [claim for claim in claims if claim.token > write.token]
            if write.accepted is None:
                continue  # the journal's places tell: see ``unexplained``
            if not write.accepted:
                if any(claim.at <= write.at for claim in later):
                    refused.append(write)
            elif _is_behind(write, later):
                accepted.append(write)
    return accepted, refused


def _is_behind(write: Write, later: Sequence[Write]) -> bool:
    """Whether an accepted write stands behind a later claim: places say it, not clocks."""
    if write.seq is None:
        return False  # it appended nothing, or only handed the run back
    return any(claim.seq is not None and claim.seq < write.seq for claim in later)


def unexplained(runs: Iterable[Run], writes: Iterable[Write]) -> list[str]:
    """Events that no write under the token of their time accounts for."""
    of_run: dict[str, list[Write]] = defaultdict(list)
    for write in writes:
        of_run[write.run].append(write)
    return [
        f"{run.name}: nobody who may have has written event {event.seq}"
        for run in runs
        for event in run.events
        if event.type not in _OTHERS and not _explained(event.seq, of_run[run.id])
    ]


def _explained(seq: int, writes: Sequence[Write]) -> bool:
    # A write may append an answer with its ending, so an event is its last or right before it.
    if any(write.accepted and write.seq in (seq, seq + 1) for write in writes):
        return True
    claims = [write for write in writes if write.what == "claim" and write.seq is not None]
    before = [claim.token for claim in claims if claim.seq is not None and claim.seq < seq]
    after = [claim.token for claim in claims if claim.seq is not None and claim.seq > seq]
    first, last = max(before, default=0), min(after, default=_NO_END)
    return any(write.accepted is None and first <= write.token < last for write in writes)


_NO_END = 1 << 62
