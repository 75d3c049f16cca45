"""How long the runs that a fault left without a doorbell took to start again. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.chaos.records import Run


@dataclass(frozen=True, slots=True)
class Loss:
    """A moment at which doorbells were lost.

    Attributes:
        at: When, or when what had been away was back.
        rung: How many doorbells hung there; None when nobody could look.
        queued: The runs that were queued then.
    """

    at: float
    rung: int | None
    queued: tuple[str, ...]


def restarts(runs: Iterable[Run], losses: Sequence[Loss]) -> list[float]:
    """Seconds from each loss to the next start of each run that was queued then."""
    seconds: list[float] = []
    for run in runs:
        for loss in losses:
            if run.id in loss.queued:
                starts = (event.at for event in run.events if event.type == "run.started")
                later = [at for at in starts if at > loss.at]
                seconds += [later[0] - loss.at] if later else []
    return seconds


def longest(seconds: Sequence[float]) -> float:
    """The longest of them, rounded; 0 without any."""
    return round(max(seconds, default=0.0), 2)
