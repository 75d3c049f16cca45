"""The kind ``relay``: stages of runs, each started together with what the stage before has said."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agents.definitions.kinds import RegisteredKind, add_kind
from agents.journal.events import ChildStarted, RunSucceeded, WaitResolved
from agents.journal.folding import folds
from agents.live.view import RunView
from agents.loop.ports import PendingChildren
from agents.loop.state import RunState
from heartbit_site.base.suspensions import ChildTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.loop.journaled import JournaledState
    from agents.loop.protocol import Outcome
    from agents.runtime.execution.active_run import ActiveRun
    from agents.runtime.execution.engines import EngineDependencies

KIND = "relay"
Stages = tuple[tuple[ChildTask, ...], ...]


@dataclass(slots=True)
class RelayState(RunState):
    """State of a relay.

    Attributes:
        said: What the runs of each stage said, stage by stage.
    """

    said: list[str] = field(default_factory=list)

    @property
    def step(self) -> int:
        """Number of stages that have ended."""
        return len(self.said)

    @folds(WaitResolved)
    def _close_stage(self, _: WaitResolved) -> None:
        if all(key in self.resolved for key in self.children):
            outcomes = [self.resolved[key].value for key in self.children]
            self.said.append(" ".join(str(value.get("output")) for value in outcomes))
            self._forget(*tuple(self.children))


@dataclass(slots=True)
class RelayView(RunView):
    """View of a relay, with a note for each run that it starts."""

    NOTES = (*RunView.NOTES, ChildStarted)


def read(_version_id: int, _agent_id: int, _name: str, snapshot: Mapping[str, Any]) -> Stages:
    """Read a relay's version."""
    return tuple(tuple(ChildTask(**child) for child in stage) for stage in snapshot["stages"])


class RelayEngine:
    """Implements ``Engine``."""

    def __init__(self, journaled: JournaledState[RelayState], stages: Stages) -> None:
        self._journaled = journaled
        self._stages = stages

    async def run(self) -> Outcome:
        """Start the next stage, or succeed."""
        state = self._journaled.state
        while True:
            if state.cancel_reason is not None:
                await self._journaled.cancel()
                return "cancelled"
            last = state.said[-1] if state.said else state.task
            if len(state.said) == len(self._stages):
                if await self._journaled.finish(RunSucceeded(last)):
                    return "succeeded"
                continue
            children = self._stages[len(state.said)]
            stage = tuple(replace(child, task=child.task.format(last)) for child in children)
            if await self._journaled.suspend(PendingChildren(stage, 60)):
                return "suspended"

    async def record_interrupted(self) -> None:
        """Do nothing: nothing that costs is in flight."""


async def build(active: ActiveRun, sources: EngineDependencies) -> RelayEngine:
    """Build the engine of a relay's run."""
    stages = await sources.definitions(read).get(active.claimed.version_id)
    return RelayEngine(active.journaled, stages)


add_kind(RegisteredKind(KIND, engine=build, state=RelayState, view=RelayView))
