"""The kind ``echo``: its engine, its definition, and its line in the list of engines.

An echo waits for a time, then says what its version says. It reads its version by itself, folds and
writes the same journal as any run, and knows nothing of leases and workers.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.definitions.kinds import RegisteredKind, add_kind
from agents.journal.events import RunPaused, RunSucceeded
from agents.runtime.execution.definitions import Definitions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.loop.journaled import JournaledState
    from agents.loop.protocol import Outcome
    from agents.loop.state import RunState
    from agents.runtime.execution.active_run import ActiveRun
    from agents.runtime.execution.engines import EngineDependencies

KIND = "echo"


@dataclass(frozen=True, slots=True)
class Echo:
    """What an echo does; while there is a file ``hold``, it works on without an end."""

    says: str
    hold: Path | None


def read(_version_id: int, _agent_id: int, _name: str, snapshot: Mapping[str, Any]) -> Echo:
    """Read an echo's version."""
    return Echo(snapshot["says"], Path(snapshot["hold"]) if "hold" in snapshot else None)


class EchoEngine:
    """Implements ``Engine``."""

    def __init__(self, journaled: JournaledState[RunState], echo: Echo) -> None:
        self._journaled = journaled
        self._echo = echo

    async def run(self) -> Outcome:
        """Wait, then succeed."""
        state = self._journaled.state
        while True:
            if state.cancel_reason is not None:
                await self._journaled.cancel()
                return "cancelled"
            if not state.delays:
                pause = RunPaused("pause:0", "an echo takes a while", 0.1)
                if await self._journaled.suspend(pause):
                    return "suspended"
                continue
            while self._echo.hold is not None and self._echo.hold.exists():
                await asyncio.sleep(0.02)
            if await self._journaled.finish(RunSucceeded(f"{self._echo.says} {state.task}")):
                return "succeeded"

    async def record_interrupted(self) -> None:
        """Do nothing: nothing that costs is in flight."""


async def build(held: ActiveRun, sources: EngineDependencies) -> EchoEngine:
    """Build the engine of an echo's run."""
    echo = await Definitions(sources.pool, read).get(held.claimed.version_id)
    return EchoEngine(held.journaled, echo)


add_kind(RegisteredKind(KIND, engine=build))
