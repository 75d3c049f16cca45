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
    """

    at: float
    pid: int
    what: str
    run: str
    token: int
    seq: int | None
    accepted: bool


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
    """Events that no accepted write of a worker accounts for: the witnesses missed something."""
    ends: dict[str, set[int]] = defaultdict(set)
    for write in writes:
        if write.accepted and write.seq is not None:
            ends[write.run].add(write.seq)
    missed = []
    for run in runs:
        own = [event.seq for event in run.events if event.type not in _OTHERS]
        # A write may append several: each event is its own write's last or right before one.
        missed += [
            f"{run.name}: nobody saw who wrote event {seq}"
            for seq in own
            if not any(seq <= end <= seq + _MOST_EVENTS for end in ends[run.id])
        ]
    return missed


#: A write appends that many events at the most, less one.
_MOST_EVENTS = 2
