"""One approval: asked for, given and heard of over one protocol, with the times of each step."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tests.chaos.records import read_effects

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chaos.doors.clients import Client

GIVE_UP_SECONDS: Final = 240.0
_LOOK_EVERY: Final = 0.25
_ON_ITS_WAY_SECONDS: Final = 0.5  # what a dead worker has sent is in the ledger by then


@dataclass(slots=True)
class Trip:
    """What a client saw.

    Attributes:
        asked_at: Time before the task was sent.
        answered_at: Time before the call was approved; 0: it was not.
        ended_at: Time at which the answer was there; 0: it never was.
        outcomes: How many calls of unknown outcome the client resolved.
        fault: What went wrong; empty: nothing.
    """

    name: str
    protocol: str
    asked_at: float = 0.0
    answered_at: float = 0.0
    ended_at: float = 0.0
    outcomes: int = 0
    fault: str = ""
    _answered: set[str] = field(default_factory=set)

    def play(self, client: Client, task: str, ledger: Path) -> None:
        """Ask, approve once, and wait for the end."""
        self.asked_at = time.time()
        client.ask(task)
        until = time.monotonic() + GIVE_UP_SECONDS
        while time.monotonic() < until:
            seen = client.look()
            if seen.answer is not None:
                self.ended_at = time.time()
                return
            for asked in seen.asked:
                if asked.is_outcome:
                    time.sleep(_ON_ITS_WAY_SECONDS)
                    done = any(effect.op == self.op for effect in read_effects(ledger))
                    client.answer(asked, "confirm" if done else "retry")
                    self.outcomes += asked.key not in self._answered
                else:
                    self.answered_at = self.answered_at or time.time()
                    client.answer(asked)
                self._answered.add(asked.key)
            time.sleep(_LOOK_EVERY)
        self.fault = f"{self.name} has not ended after {GIVE_UP_SECONDS:g} s"

    @property
    def op(self) -> str:
        """Name of the one effect, as ``couriers.task`` gives it."""
        return f"{self.name}/0R"
