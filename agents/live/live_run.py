"""State of a run, as its journal and its streamed text tell it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from agents.journal.folding import Fold
from agents.live.call_view import OPEN, CallView
from agents.live.timeline import Parts
from agents.live.writing import Writing
from agents.runs.live_entries import DeltaKind

#: Equal to agents.choices.TERMINAL, which needs Django.
TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled", "quarantined"})


@dataclass(slots=True)
class LiveRun(Fold):
    """State of one run, without the parts of its pages.

    Attributes:
        run_kind: Name of the engine that executes the run.
        seq: Last event folded.
        writing: Model call in flight.
        waits: Open waits, by key.
        pause: Reason for waiting for a point in time, and that time.
        remark: Latest event of the conversation, such as a message from a person.
        ending: Terminal status with the answer or the error.
    """

    run_id: UUID
    parent_id: UUID | None
    agent: str
    task: str
    model: str = ""
    worker: str = ""
    sandbox: str = ""
    run_kind: str = "agent"
    status: str = "queued"
    seq: int = 0
    turn: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: Decimal = Decimal(0)
    priced: bool = True
    writing: Writing = field(default_factory=Writing)
    calls: dict[str, CallView] = field(default_factory=dict)
    waits: dict[str, Parts] = field(default_factory=dict)
    pause: tuple[str, datetime] | None = None
    remark: str = ""
    cancelling: bool = False
    problem: str = ""
    ending: Parts | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def over(self) -> bool:
        """True once the run has ended."""
        return self.status in TERMINAL

    @property
    def text(self) -> str:
        """Text or thinking of the model call in flight, so far."""
        written = self.writing
        if written.turn <= self.turn or self.status != "running":
            return ""  # the call was answered or abandoned
        return written.thinking if written.kind == "thinking" else written.text

    @property
    def kind(self) -> DeltaKind:
        """Kind of the streamed text: ``text`` or ``thinking``."""
        return self.writing.kind

    @property
    def open_calls(self) -> list[CallView]:
        """Calls that run or are about to run."""
        return [call for call in self.calls.values() if call.status in OPEN]

    def at_work(self, writing: DeltaKind | None) -> str:
        """Return what the run is doing while it runs no call (see ``activity``)."""
        del writing  # kinds that call models say what they write
        return "works"

    def name_of(self, call_id: str) -> str:
        """Return the name of a call as ``agents.live.words`` uses it."""
        call = self.calls.get(call_id)
        return call.name if call is not None else ""

    def elapsed(self, now: datetime) -> float:
        """Return the seconds since the run was first started."""
        if self.started_at is None:
            return 0.0
        return max(0.0, ((self.finished_at or now) - self.started_at).total_seconds())
