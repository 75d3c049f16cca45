"""A worker's slot: it serves a wake-up, and then the runs that this run starts or wakes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Self
from uuid import UUID

if TYPE_CHECKING:
    from agents.loop.state import RunState
    from agents.runs.claims import ClaimedRun

#: Time after which a slot takes no further run, so that others may have it.
CHAIN_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Slot:
    """Slot that serves a wake-up.

    Attributes:
        task_id: Id of the Celery task.
        alone: True if the process was started to execute only certain runs.
        until: Time of the monotonic clock after which it takes no further run.
        suspended: States of the runs that it has suspended, by id, so that their journals are not
            folded again if it serves them once more.
    """

    task_id: str
    alone: bool
    until: float
    suspended: dict[UUID, RunState] = field(default_factory=dict)

    @classmethod
    def taken(cls, task_id: str, *, alone: bool) -> Self:
        """Return a slot that is taken now."""
        return cls(task_id, alone, time.monotonic() + CHAIN_SECONDS)

    @property
    def is_over(self) -> bool:
        """True if the slot takes no further run."""
        return time.monotonic() > self.until

    def take_state(self, claimed: ClaimedRun) -> RunState | None:
        """Return the state of a run that this slot has suspended; None: its journal tells more."""
        state = self.suspended.pop(claimed.id, None)
        is_behind = state is not None and state.folded_seq < claimed.checkpoint_seq
        return None if is_behind else state
