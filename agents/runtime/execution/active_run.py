"""A claimed run in this process, with a way to stop its slice."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from agents.live.pubsub import RunPublisher
from agents.loop.effect_gate import EffectGate

if TYPE_CHECKING:
    from agents.loop.journaled import JournaledState
    from agents.runs.claims import ClaimedRun
    from agents.runs.lease import Lease

StopReason = Literal["cancel", "lease lost", "drain"]


@dataclass(slots=True)
class ActiveRun:
    """A run claimed by this process.

    Attributes:
        stop_reason: Reason for stopping the slice, once it is being stopped.
    """

    claimed: ClaimedRun
    task: asyncio.Task[object]
    lease: Lease
    publisher: RunPublisher
    journaled: JournaledState[Any]
    gate: EffectGate
    stop_reason: StopReason | None = None

    @property
    def key(self) -> tuple[UUID, int]:
        """Id and current lease token of the run."""
        return self.claimed.id, self.lease.token

    def stop(self, why: StopReason) -> None:
        """Stop the slice: at once, or for a drain after the running effect.

        A cancel and a lost lease override a drain.
        """
        if self.stop_reason == why and self.task.cancelling():
            self.task.cancel()  # a library may have swallowed the first cancellation
        if self.stop_reason not in (None, "drain") or why == self.stop_reason:
            return
        self.stop_reason = why
        if why == "drain":
            self.gate.drain()
        else:
            self.task.cancel()
