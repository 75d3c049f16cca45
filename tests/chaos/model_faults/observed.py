"""What a mode left behind, as plain values: the judge sees these and no system."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.journal.events import RecordedEvent, decode
from agents.loop.agent_state import AgentState
from agents.models import Run
from agents.querysets import events_after
from heartbit_site.base.models import UsageEntry

if TYPE_CHECKING:
    from decimal import Decimal
    from pathlib import Path
    from uuid import UUID

    from tests.chaos.model_faults.wire import Dialect


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a mode.

    Attributes:
        route: ``environment``, ``account`` (the guarded client) or ``fleet`` (a worker process).
        detail: What the mode's name leaves open.
    """

    mode: str
    dialect: Dialect
    route: str
    model: str
    detail: str = ""

    @property
    def name(self) -> str:
        """In the ledgers."""
        serial = self.detail.partition(".")[0].replace("@", "-") or "0"
        return f"{self.mode}/{self.dialect}/{self.route}/{serial}"

    @property
    def task(self) -> str:
        """What the run is asked to do."""
        return f"[[case: {self.name}{':' if self.detail else ''}{self.detail}]] Hello."


@dataclass(frozen=True, slots=True)
class Request:
    """A request that the provider received; ``turn`` counts answers before it."""

    turn: int
    at: float


@dataclass(frozen=True, slots=True)
class Ledgers:
    """What provider and effects server wrote down, by case."""

    requests: dict[str, list[Request]]
    effects: dict[str, list[str]]

    @classmethod
    def read(cls, provider: Path, effects: Path) -> Ledgers:
        """Both, as they are now."""
        requests: dict[str, list[Request]] = defaultdict(list)
        for line in map(json.loads, provider.read_text().splitlines()):
            requests[line["case"]].append(Request(line["turn"], line["at"]))
        acted: dict[str, list[str]] = defaultdict(list)
        for line in map(json.loads, effects.read_text().splitlines()):
            acted[line["op"].rpartition("/")[0]].append(line["op"])
        return cls(dict(requests), dict(acted))


@dataclass(frozen=True, slots=True)
class Observed:
    """A run and its surroundings, after its end or when it was given up.

    Attributes:
        error: The row's error.
        wall: Seconds from acceptance to the end.
        journal: Types and payloads, in order, with their seconds since the epoch.
        unreadable: Why the journal does not decode or fold, if it does not.
        waited: Whether it was seen waiting without a worker.
        served_after: Whether the same process served a sound run afterwards.
    """

    status: str
    output: str = ""
    error: dict[str, str] = field(default_factory=dict)
    wall: float = 0.0
    tokens: tuple[int, int] = (0, 0)
    usage: tuple[tuple[int, int, int, Decimal | None], ...] = ()
    journal: tuple[tuple[str, dict[str, Any], float], ...] = ()
    seqs: tuple[int, ...] = ()
    unreadable: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    requests: tuple[Request, ...] = ()
    effects: tuple[str, ...] = ()
    waited: bool = False
    served_after: bool = True


def observe(
    case: Case, run_id: UUID, ledgers: Ledgers, *, waited: bool, served_after: bool
) -> Observed:
    """Read a run back."""
    run = Run.objects.get(pk=run_id)
    events = events_after(run_id, 0)
    wall = (run.finished_at - run.created_at).total_seconds() if run.finished_at else 0.0
    return Observed(
        status=run.status,
        output=run.output or "",
        error=run.error or {},
        wall=wall,
        tokens=(run.input_tokens, run.output_tokens),
        usage=tuple(
            UsageEntry.objects.filter(run_id=run_id).values_list(
                "input_tokens", "output_tokens", "cached_input_tokens", "cost_usd"
            )
        ),
        journal=tuple((event.type, event.payload, event.at.timestamp()) for event in events),
        seqs=tuple(event.seq for event in events),
        unreadable=_unreadable(events),
        calls=tuple((call.status, call.result or "") for call in run.calls.order_by("id")),
        requests=tuple(ledgers.requests.get(case.name, ())),
        effects=tuple(ledgers.effects.get(case.name, ())),
        waited=waited,
        served_after=served_after,
    )


def _unreadable(events: list[Any]) -> str:
    state = AgentState()
    try:
        for row in events:
            state.fold(RecordedEvent(row.seq, row.at, decode(row.type, row.payload)))
    except (KeyError, ValueError, TypeError) as error:
        return repr(error)
    return ""
