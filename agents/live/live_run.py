"""State of a run from its journal and streamed text, and its current activity. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Final
from uuid import UUID

from agents.journal.folding import Fold
from agents.live.view_parts import OPEN, CallView, Parts, Writing
from agents.runs.live_entries import DeltaKind
from heartbit_site.base.amounts import counted

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
        is_reviewed: True while a review decides about the result, until it requests changes.
        lost: Sentence on the death of a worker, until the run has got further.
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
    is_reviewed: bool = False
    problem: str = ""
    lost: str = ""
    ending: Parts | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def over(self) -> bool:
        """True once the run has ended."""
        return self.status in TERMINAL

    @property
    def takes_messages(self) -> bool:
        """True while ``heartbit_steer`` accepts a message."""
        is_held_back = self.cancelling or self.is_reviewed
        return takes_messages(self.run_kind, is_over=self.over, is_held_back=is_held_back)

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
        del writing  # kinds that call models override this
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


def takes_messages(kind: str, *, is_over: bool, is_held_back: bool) -> bool:
    """Return True if a person may send a run a message: the condition of all pages.

    Args:
        kind: The run's kind.
        is_over: True once the run has ended, or is in quarantine.
        is_held_back: True if the run is being cancelled, or its result is reviewed.
    """
    return kind == "agent" and not is_over and not is_held_back


def activity(
    run: LiveRun,
    writing: DeltaKind | None = None,
    time: Callable[[datetime], str] | None = None,
) -> str:
    """Return what a run is doing, in a few words; empty if it has ended.

    Args:
        run: The run.
        writing: Kind of text that its model call streams; None: nothing so far.
        time: Formats a point in time, for surfaces that know their reader's time zone.
    """
    if run.over:
        return ""
    if run.cancelling:
        return "is being cancelled"
    match run.status:
        case "queued":
            return "queued again" if run.started_at else "queued"
        case "waiting":
            return _waiting_for(run, time)
    tools = sorted({call.tool for call in run.open_calls})
    if tools:
        return f"runs {', '.join(tools)}"
    return run.at_work(writing)


def _waiting_for(run: LiveRun, time: Callable[[datetime], str] | None) -> str:
    asked = [call.tool for call in run.calls.values() if call.asked]
    if asked:
        return f"waits until a person decides about {', '.join(asked)}"
    doubts = [call.tool for call in run.calls.values() if call.doubt]
    if doubts:
        return f"waits for the outcome of {', '.join(doubts)}"
    if run.pause is not None:
        reason, until = run.pause
        return f"is paused until {time(until)}: {reason}" if time else f"is paused: {reason}"
    runs = {wait["run"] for wait in run.waits.values() if "run" in wait}
    if not runs:
        reasons = [wait["for"] for wait in run.waits.values()]
        return f"waits for {reasons[0]}" if reasons else "waits"
    names = [wait["agent"] for wait in run.waits.values() if "agent" in wait] + [
        name
        for call in run.calls.values()
        for child, name in zip(call.children, call.agents, strict=False)
        if child in runs
    ]
    if len(names) != len(runs) or len(names) > 2:
        return f"waits for {counted(len(runs), 'sub-agent')}"
    return f"waits for {', '.join(names)}"
