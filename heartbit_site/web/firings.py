"""Firings as cells: the run's outcome above, the delivery's below, and both in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from agents.choices import LIVE
from agents.delivery.words import DELIVERIES
from heartbit_site.base import amounts
from heartbit_site.base.tone import STATUS_TONES
from scheduling.choices import FiringStatus, Trigger
from scheduling.models import Schedule
from scheduling.outcomes import lasted, late_by, total_cost

_FIRINGS: Final = {
    FiringStatus.DEFERRED: "info",
    FiringStatus.SKIPPED: "neutral",
    FiringStatus.FAILED: "danger",
}
_DELIVERIES: Final = {"delivered": "success", "failed": "danger", "pending": "info"}
NO_DELIVERY: Final = "nothing is delivered"


@dataclass(frozen=True, slots=True)
class Cell:
    """A firing, ready to be drawn.

    Attributes:
        firing: Annotated as by ``scheduling.outcomes.with_figures``.
        run: Outcome of the run, or why there is none, in a word; ``run_tone`` is its colour.
        delivery: Outcome of the delivery in words; ``delivery_tone`` is its colour.
        late: By how much it was late; empty: it was punctual.
        figures: Cost and duration; may be empty.
    """

    firing: Any
    run: str
    run_tone: str
    delivery: str
    delivery_tone: str
    late: str
    cost: str
    lasted: str

    @property
    def figures(self) -> str:
        """Duration and cost in one line; may be empty."""
        return ", ".join(filter(None, (self.lasted, self.cost)))

    @property
    def cause(self) -> str:
        """Cause of the firing, in a word."""
        return Trigger(self.firing.cause).label


@dataclass(frozen=True, slots=True)
class Strip:
    """The last firings of a schedule, the oldest first, and all of it in a sentence."""

    cells: list[Cell]
    said: str


def strip_of(schedule: Schedule, firings: Sequence[Any], now: datetime) -> Strip:
    """Return the strip of a schedule's annotated firings."""
    cells = cells_of(schedule, firings, now)
    failed = sum(cell.run_tone == "danger" for cell in cells)
    undelivered = sum(cell.delivery_tone == "danger" for cell in cells)
    late = sum(bool(cell.late) for cell in cells)
    parts = [
        amounts.counted(len(cells), "firing"),
        f"{failed} failed" if failed else "",
        f"{undelivered} not delivered" if undelivered else "",
        f"{late} late" if late else "",
        amounts.money(cost) if (cost := total_cost(firings)) else "",
    ]
    return Strip(cells, ", ".join(filter(None, parts)) if cells else "not fired yet")


def cells_of(schedule: Schedule, firings: Sequence[Any], now: datetime) -> list[Cell]:
    """Return a cell for each annotated firing."""
    return [_cell(firing, schedule.jitter_seconds, now) for firing in firings]


def _cell(firing: Any, jitter: int, now: datetime) -> Cell:
    if firing.status != FiringStatus.STARTED:
        run, tone = FiringStatus(firing.status).label.lower(), _FIRINGS[firing.status]
    else:
        run = firing.run_status or "archived"
        tone = "info" if run in LIVE else STATUS_TONES.get(run, "neutral")
    status = firing.delivery_status
    is_over = firing.run_status is not None and firing.run_status not in LIVE
    delivery = DELIVERIES[status] if status and (is_over or status != "pending") else NO_DELIVERY
    if status and not is_over and status == "pending":
        delivery = "delivery after the run"
    span, late = lasted(firing), late_by(firing, jitter, now)
    return Cell(
        firing,
        run,
        tone,
        delivery,
        _DELIVERIES.get(status or "", "none"),
        amounts.duration(late) if late else "",
        amounts.money(firing.cost) if firing.cost is not None else "",
        amounts.duration(span) if span is not None else "",
    )
