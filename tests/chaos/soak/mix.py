"""Everything people do with agents, at a steady pace: so many runs a second, of every kind."""

from __future__ import annotations

import heapq
import json
import random
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from agents.actions.run_request import start_conversation
from agents.actions.runs import cancel_run, steer_run
from agents.choices import TERMINAL
from agents.errors import CallClosedError
from agents.models import Conversation, Run
from tests.chaos.couriers import CAREFUL_SCRIPT, COURIER, SHORT_SCRIPT, add_agent, task
from tests.chaos.journals import CAREFUL
from tests.starts import post_message, start_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.chaos.rig import Rig

LEAD = "lead"
#: What each twenty runs are, in random order.
KINDS = (
    *("courier",) * 7,
    *("careful",) * 3,
    *("fan_out",) * 3,
    *("talk",) * 4,
    *("steered",) * 2,
    "cancelled",
)
CHILDREN = 2
MESSAGES = 4  # of a conversation
LATER = (0.2, 1.6)  # seconds until a run is steered or cancelled


@dataclass(slots=True)
class Mix:
    """The load.

    Attributes:
        on: Where it goes.
        name: Begins every run's name.
        a_second: How many runs are started a second, sub-agents not counted; see ``pace``.
        seed: Which kinds come when.
        started: How many were.
        threads: The runs of each conversation, in order.
        doomed: Those that were told to stop.
        steered: How many were told something while they worked.
    """

    on: Rig
    name: str
    a_second: float
    seed: int
    started: int = 0
    threads: list[list[UUID]] = field(default_factory=list)
    doomed: list[UUID] = field(default_factory=list)
    steered: int = 0
    _began: float = field(default_factory=time.monotonic)
    _before: int = 0
    _dice: random.Random = field(init=False)
    _kinds: list[str] = field(default_factory=list)
    _thread: Conversation | None = None
    _later: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Publish the orchestrator."""
        self._dice = random.Random(self.seed)  # noqa: S311  repeatable, not secret
        add_agent(self.on.workspace, LEAD, queue=self.on.queue, team=[COURIER])

    def look(self) -> None:
        """Start what is due, and do what was to be done by now."""
        now = time.monotonic()
        while self.started - self._before < (now - self._began) * self.a_second:
            self.start()
        self._act(now)

    def pace(self, a_second: float) -> None:
        """Start so many runs a second from now on."""
        self.a_second, self._began, self._before = a_second, time.monotonic(), self.started

    def unfinished(self) -> int:
        """How many runs have not ended; what was to be done to them is done first."""
        self._act(time.monotonic())
        live = Run.objects.filter(workspace=self.on.workspace).exclude(status__in=TERMINAL)
        return live.count() + len(self._later)

    def _act(self, now: float) -> None:
        while self._later and self._later[0][0] <= now:
            heapq.heappop(self._later)[2]()

    def start(self) -> None:
        """Start the next run now."""
        if not self._kinds:
            self._kinds = list(KINDS)
            self._dice.shuffle(self._kinds)
        kind = self._kinds.pop()
        name = f"{self.name}-{self.started}"
        self.started += 1
        match kind:
            case "careful":
                start_run(self.on.workspace, self._task(name, CAREFUL_SCRIPT), agent=CAREFUL)
            case "fan_out":
                start_run(self.on.workspace, self._fan(name), agent=LEAD)
            case "talk":
                self._say(self._task(name, ("S", "R")))
            case _:
                run_id = start_run(self.on.workspace, self._task(name, SHORT_SCRIPT), agent=COURIER)
                self._interrupt(kind, run_id)

    def _task(self, name: str, script: tuple[str, ...]) -> str:
        return task(name, script, effects_url=self.on.effects.url)

    def _fan(self, name: str) -> str:
        children = [
            {"agent": COURIER, "task": self._task(f"{name}.{child}", ("S", "R"))}
            for child in range(CHILDREN)
        ]
        return f"[[run: {name}]] [[delegate: {', '.join(map(json.dumps, children))}]]"

    def _say(self, text: str) -> None:
        if self._thread is None or len(self.threads[-1]) >= MESSAGES:
            self._thread = start_conversation(self.on.workspace, agent=COURIER)
            self.threads.append([])
        self.threads[-1].append(post_message(self._thread, text).run_id)

    def _interrupt(self, kind: str, run_id: UUID) -> None:
        if kind == "cancelled":
            self.doomed.append(run_id)
            what = partial(cancel_run, self.on.workspace, run_id, reason="soak")
        elif kind == "steered":
            what = partial(self._steer, run_id)
        else:
            return
        at = time.monotonic() + self._dice.uniform(*LATER)
        due: tuple[float, int, Callable[[], None]] = (at, self.started, what)
        heapq.heappush(self._later, due)

    def _steer(self, run_id: UUID) -> None:
        try:
            steer_run(Run.objects.get(pk=run_id), "Enough. [[text: Stopped there.]]")
        except CallClosedError:
            return
        self.steered += 1
