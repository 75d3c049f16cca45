"""Review of a result before it is delivered: who reviews it, and for how long it waits. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ANYONE: Final = "anyone"
_GROUP: Final = "group:"
_PERSON: Final = "person:"
MOST_CHARACTERS: Final = 160


@dataclass(frozen=True, slots=True)
class ReviewPolicy:
    """Reviewers of a run's result.

    Attributes:
        by: ``anyone`` who may decide in the workspace, ``group:NAME`` of Django, or
            ``person:USERNAME``.
        timeout_seconds: Seconds after which an unreviewed run fails; None: never.
        escalate_seconds: Seconds after which all who may decide may review too; None: never.
    """

    by: str
    timeout_seconds: int | None = None
    escalate_seconds: int | None = None

    @property
    def group(self) -> str:
        """Name of the group; empty: no group is named."""
        return self.by.removeprefix(_GROUP) if self.by.startswith(_GROUP) else ""

    @property
    def person(self) -> str:
        """Name of the person; empty: no person is named."""
        return self.by.removeprefix(_PERSON) if self.by.startswith(_PERSON) else ""

    @property
    def people(self) -> str:
        """The reviewers as a phrase."""
        if self.group:
            return f"the group {self.group}"
        return self.person or "anyone who may decide"


def read_reviewers(text: str) -> str:
    """Accept the reviewers of a result; empty: no one reviews it.

    Raises:
        ValueError: The text names no reviewers; the end of a sentence about it.
    """
    policy = ReviewPolicy(text)
    if text in ("", ANYONE) or policy.group or policy.person:
        return text
    raise ValueError(
        f'is "{text}"; write anyone, group:NAME or person:USERNAME, or leave it empty for no review'
    )
