"""The kind ``straight``: five steps as straight code on the same journal, compared with W5."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from agents.definitions.kinds import RegisteredKind, add_kind
from agents.journal.events import RunSucceeded
from agents.journal.folding import folds
from agents.loop.state import RunState
from agents.workflows.events import NodeFinished

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.loop.journaled import JournaledState
    from agents.loop.protocol import Outcome
    from agents.runtime.execution.active_run import ActiveRun
    from agents.runtime.execution.engines import EngineDependencies

KIND: Final = "straight"
STEPS: Final = 5


@dataclass(slots=True)
class StraightState(RunState):
    """The number of steps that have ended."""

    done: int = 0

    @folds(NodeFinished)
    def _count(self, _: NodeFinished) -> None:
        self.done += 1


class StraightEngine:
    """Implements ``Engine``."""

    def __init__(self, journaled: JournaledState[StraightState]) -> None:
        self._journaled = journaled

    async def run(self) -> Outcome:
        """Journal each step, then succeed."""
        state = self._journaled.state
        while True:
            if state.cancel_reason is not None:
                await self._journaled.cancel()
                return "cancelled"
            if state.done < STEPS:
                result = NodeFinished(f"{state.done}.0", f"step{state.done}", output=state.task)
                await self._journaled.record(result)
            elif await self._journaled.finish(RunSucceeded(str(state.done))):
                return "succeeded"

    async def record_interrupted(self) -> None:
        """Do nothing: nothing that costs is in flight."""


def read(_version_id: int, _agent_id: int, _name: str, _snapshot: Mapping[str, Any]) -> None:
    """Read nothing: all versions are the same."""


async def build(active: ActiveRun, sources: EngineDependencies) -> StraightEngine:
    """Build the engine; it reads its version as every engine does."""
    await sources.definitions(read).get(active.claimed.version_id)
    return StraightEngine(active.journaled)


add_kind(RegisteredKind(KIND, engine=build, state=StraightState))
