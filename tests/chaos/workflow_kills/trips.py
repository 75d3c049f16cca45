"""Runs of workflows that keep coming, and the person who answers what they ask."""

from __future__ import annotations

import json
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from agents.actions.waits import answer_wait, resolve_call
from agents.choices import CallResolution
from agents.errors import CallClosedError
from agents.models import Run
from agents.querysets import uncertain_calls, waits_for_answers
from heartbit_site.base.audit import SYSTEM
from tests.chaos.load import Load
from tests.chaos.records import read_effects
from tests.chaos.rig import Rig, say
from tests.chaos.workflow_kills.definitions import ERRAND, TRIP
from tests.starts import start_run

if TYPE_CHECKING:
    from uuid import UUID

    from tests.chaos.records import Kill

#: So many inputs of different content there are.
SHAPES: Final = 4


@dataclass(slots=True)
class Trips(Load):
    """Trips and errands; each shape of either has one story.

    Attributes:
        names: Names of all runs by their id, forks included.
        sources: Id of the run that each fork was made from.
    """

    names: dict[UUID, str] = field(default_factory=dict)
    sources: dict[UUID, UUID] = field(default_factory=dict)

    def submit_one(self) -> UUID:
        """Start the next run."""
        number = len(self.ids) - len(self.sources)
        name, shape = f"{self.name}-{number}-", number // 2 % SHAPES
        task = json.dumps({"name": name, "n": shape})
        run_id = start_run(self.workspace, task, agent=(TRIP, ERRAND)[number % 2])
        self.ids.append(run_id)
        self.names[run_id] = name
        return run_id


class Person:
    """Answers each question by the run's shape, and knows from the ledger what lost calls did.

    Attributes:
        resolved: How many calls of unknown outcome were resolved.
        answers: How many questions were answered.
    """

    def __init__(self, on: Rig) -> None:
        self.resolved = self.answers = 0
        self._on = on

    def look(self) -> None:
        """Answer what waits."""
        for wait in waits_for_answers(self._on.workspace):
            shape = json.loads(wait.run.task)["n"]
            with suppress(CallClosedError):
                answer_wait(wait, answer=shape % 2 == 0, by=SYSTEM)
                self.answers += 1
        for call in uncertain_calls(self._on.workspace):
            self._resolve(call)

    def _resolve(self, call: Any) -> None:
        ledger = read_effects(self._on.directory / "effects.jsonl")
        key = f"{call.run_id}:{call.call_id}"
        ops = [effect.op for effect in ledger if effect.key == key]
        with suppress(CallClosedError):
            if ops:
                resolve_call(call, CallResolution.CONFIRMED, by=SYSTEM, result=f"sent {ops[0]}")
            else:
                resolve_call(call, CallResolution.RETRIED, by=SYSTEM)
            self.resolved += 1


class Killer:
    """Kills a worker that holds runs, every so many seconds, as soon as all workers are up.

    Args:
        on: The rig.
        seed: Seed of the dice.
        every: Seconds between two kills.
        most: Most kills.
    """

    def __init__(self, on: Rig, *, seed: int, every: float, most: int) -> None:
        self.kills: list[Kill] = []
        self._most = most
        self._on, self._every = on, every
        self._choice = random.Random(seed)  # noqa: S311  repeatable, not secret
        self._next = time.monotonic() + self._every * self._choice.uniform(0.5, 1.5)

    def look(self) -> None:
        """Kill if it is time to."""
        supervisor = self._on.supervisor
        supervisor.tend()
        if len(self.kills) == self._most or time.monotonic() < self._next:
            return
        if supervisor.registered() < supervisor.count:
            return
        runs = Run.objects.filter(workspace=self._on.workspace)
        kill = supervisor.kill_one(self._choice, runs)
        if kill is not None:
            self.kills.append(kill)
            say(f"killed worker {kill.worker} with {len(kill.held)} runs")
            self._next = time.monotonic() + self._every * self._choice.uniform(0.5, 1.5)
