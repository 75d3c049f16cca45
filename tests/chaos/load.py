"""Runs that keep coming: so many unfinished at a time, until all have been submitted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings

from agents.choices import TERMINAL
from agents.models import Run
from heartbit_site.base.models import Workspace
from tests.chaos.couriers import (
    CAREFUL_SCRIPT,
    COURIER,
    SCRIPT,
    SCRIPTED,
    script_task,
    task,
)
from tests.chaos.journals import CAREFUL
from tests.starts import start_run

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A script needs no model between its calls, so it makes more of them until a kill can hit it.
LONGER = 5
#: Starts a run of an agent (workspace, task, agent) and returns its id.
Start = Callable[[Workspace, str, str], UUID]


def start_here(workspace: Workspace, text: str, agent: str) -> UUID:
    """Start a run in this process, as a task or a view would."""
    return start_run(workspace, text, agent=agent)


@dataclass(slots=True)
class Load:
    """The runs of a scenario.

    Attributes:
        name: Begins the name of each run, which is its key in the ledgers; unique to a play.
        runs: How many in all.
        at_once: How many of them are unfinished at a time.
        careful_every: One run in so many asks a person before each effect; 0: none does.
        scripted_every: One run in so many does the same from a script; 0: none does.
        start: How a run is started.
        ids: The runs that were accepted, in order.
    """

    workspace: Workspace
    name: str
    effects_url: str
    runs: int
    at_once: int = 15
    careful_every: int = 0
    scripted_every: int = 0
    script: Sequence[str] = SCRIPT
    start: Start = start_here
    ids: list[UUID] = field(default_factory=list)

    def submit(self, *, keep: int = 0) -> int:
        """Start what there is room for, but the last ``keep``; how many are unfinished."""
        unfinished = self.unfinished()
        while unfinished < self.at_once and len(self.ids) < self.runs - keep:
            self.submit_one()
            unfinished += 1
        return unfinished

    def submit_one(self) -> UUID:
        """Start the next run, whatever the others do."""
        number = len(self.ids)
        careful = self.careful_every and number % self.careful_every == 0
        scripted = not careful and self.scripted_every and number % self.scripted_every == 1
        agent, script = (CAREFUL, CAREFUL_SCRIPT) if careful else (COURIER, self.script)
        write = script_task if scripted else task
        script = LONGER * tuple(script) if scripted else script
        text = write(f"{self.name}-{number}", script, effects_url=self.effects_url)
        agent = SCRIPTED if scripted else agent
        self.ids.append(self.start(self.workspace, text, agent))
        return self.ids[-1]

    def unfinished(self) -> int:
        """How many of the started ones have not ended."""
        ended = Run.objects.filter(pk__in=self.ids, status__in=TERMINAL).count()
        return len(self.ids) - ended

    def finish(self, between: Callable[[], object] = lambda: None) -> None:
        """Submit the rest and wait until all have ended, or none has for two leases and a while.

        Args:
            between: Called before each look, for example a supervisor's ``tend``.
        """
        quiet = 2 * settings.HEARTBIT_LEASE_SECONDS + 30
        until, seen = time.monotonic() + quiet, (0, 0)
        while (unfinished := self.submit()) and time.monotonic() < until:
            if seen != (seen := (unfinished, len(self.ids))):
                until = time.monotonic() + quiet
            between()
            time.sleep(0.1)
