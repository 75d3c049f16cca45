"""What a run gave, as responses say it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agents.choices import TERMINAL
from agents.events import RunSucceeded
from agents.models import RunEvent
from agents.outcome import result_of as find_result

if TYPE_CHECKING:
    from agents.models import Run


def result_of(run: Run) -> dict[str, Any] | None:
    """The result form of a run; None as long as it has not ended."""
    if run.status not in TERMINAL:
        return None
    ending = RunEvent.objects.filter(run=run, type=RunSucceeded.type).first()
    reason = ending.payload.get("finish_reason") if ending is not None else None
    return {**find_result(run).as_dict(), "finish_reason": reason}
