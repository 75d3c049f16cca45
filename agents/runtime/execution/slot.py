"""A worker's slot: it serves a wake-up, and then the runs that this run starts or wakes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final, Self

#: Time after which a slot takes no further run, so that others may have it.
CHAIN_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Slot:
    """Slot that serves a wake-up.

    Attributes:
        task_id: Id of the Celery task.
        alone: True if the process was started to execute only certain runs.
        until: Time of the monotonic clock after which it takes no further run.
    """

    task_id: str
    alone: bool
    until: float

    @classmethod
    def taken(cls, task_id: str, *, alone: bool) -> Self:
        """Return a slot that is taken now."""
        return cls(task_id, alone, time.monotonic() + CHAIN_SECONDS)

    @property
    def is_over(self) -> bool:
        """True if the slot takes no further run."""
        return time.monotonic() > self.until
