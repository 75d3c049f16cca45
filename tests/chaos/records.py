"""What a scenario leaves behind: the ledgers of the fakes, the journals, and the kills."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Asked:
    """A request the model server received; ``turn`` counts answers, this one included."""

    run: str
    turn: int
    at: float


@dataclass(frozen=True, slots=True)
class Effect:
    """A call the effects server received; ``op`` names what was asked for, once per script."""

    tool: str
    key: str
    op: str
    at: float


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a run's journal."""

    seq: int
    type: str
    at: float
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the run's tables show it; ``guarded``: its agent asks before it runs."""

    call_id: str
    tool: str
    effect: str
    status: str
    op: str
    guarded: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was taken, as its maker wrote it down.

    Attributes:
        op: What may be done now; empty when the call was denied.
        at: Just before it was given: nothing of the call may have happened earlier.
    """

    run: str
    call_id: str
    verdict: str
    op: str
    at: float


@dataclass(frozen=True, slots=True)
class Run:
    """A run and its journal; ``name`` is its key in the model server's ledger."""

    id: str
    name: str
    status: str
    events: tuple[Event, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Kill:
    """A worker that was killed, and the runs it held then.

    Attributes:
        until: When one that was told to leave had left: it may begin something before it hears.
    """

    at: float
    worker: str
    held: tuple[str, ...]
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """All of it."""

    runs: tuple[Run, ...]
    asked: tuple[Asked, ...]
    effects: tuple[Effect, ...]
    kills: tuple[Kill, ...]
    decided: tuple[Decided, ...] = ()
    missed_windows: int = 0
    own_exits: int = 0


def read_asked(ledger: Path) -> tuple[Asked, ...]:
    """The model server's ledger."""
    return tuple(Asked(line["run"], line["turn"] + 1, line["at"]) for line in _lines(ledger))


def read_effects(ledger: Path) -> tuple[Effect, ...]:
    """The effects server's ledger."""
    return tuple(
        Effect(line["tool"], line["key"], line["op"], line["at"]) for line in _lines(ledger)
    )


def read_decided(journal: Path) -> tuple[Decided, ...]:
    """The decider's own journal."""
    return tuple(Decided(**line) for line in _lines(journal))


def _lines(ledger: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ledger.read_text().splitlines()]
