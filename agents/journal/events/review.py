"""Event of a result that people review before it is delivered. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from agents.journal import waits
from agents.journal.events.event import Event
from agents.journal.events.run import RunSucceeded
from agents.journal.phrase import Phrase
from heartbit_site.base.review_policy import ReviewPolicy
from heartbit_site.base.visible_text import visible


@dataclass(frozen=True, slots=True)
class ReviewRequested(Event):
    """The result of a run waits for a review; it is the run's end if a reviewer approves it.

    Attributes:
        number: Number of the review in its run, from 1.
        output: The result; ``structured``, ``finish_reason`` and ``left_out`` are as in
            ``RunSucceeded``.
        by: Reviewers (``heartbit_site.base.review_policy``).
        timeout_seconds: Seconds until the run fails without a review; None: never.
        escalate_seconds: Seconds until all who may decide may review too; None: never.
        can_continue: True if the run can take up requested changes.
        response_schema: JSON Schema of a structured result, which an edited one has to fit.
    """

    type: ClassVar[str] = "review.requested"
    number: int
    output: str
    by: str
    structured: Any = None
    finish_reason: str = "stop"
    left_out: str = ""
    timeout_seconds: int | None = None
    escalate_seconds: int | None = None
    can_continue: bool = True
    response_schema: dict[str, Any] | None = None

    @property
    def key(self) -> str:
        """Key of the wait that the review resolves."""
        return f"{waits.REVIEW.name}:{self.number}"

    @property
    def wait(self) -> dict[str, Any]:
        """The wait that this event opens."""
        return waits.REVIEW.row(
            self.key, timeout_seconds=self.timeout_seconds, escalate_seconds=self.escalate_seconds
        )

    @property
    def ending(self) -> RunSucceeded:
        """End of the run with the result as the run made it."""
        return RunSucceeded(
            self.output,
            self.finish_reason,
            structured=self.structured,
            left_out=self.left_out,
        )

    def phrase(self, name_of: Callable[[str], str]) -> Phrase:
        """Return the event in words."""
        del name_of
        people = visible(ReviewPolicy(self.by).people)
        return Phrase(f"waits for a review of its result by {people}", "", "rate_review", "warning")
