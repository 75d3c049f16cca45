"""Runs races: starts a run, waits until it has come so far, and cancels it at a random moment."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agents.actions.runs import cancel_run
from agents.choices import TERMINAL
from agents.models import Run
from tests.starts import start_run

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from heartbit_site.base.models import Workspace
    from tests.chaos.cancel_race.kinds import Kind

PATIENCE_SECONDS = 30.0
LOOK_EVERY = 0.05
#: What was asked for has left the model server by then.
STREAMED_SECONDS = 0.4


@dataclass(frozen=True, slots=True)
class Race:
    """One that was run.

    Attributes:
        asked_at: Just before the cancel was asked for.
        done_at: When it had been committed.
    """

    kind: Kind
    name: str
    run: UUID
    asked_at: float
    done_at: float


@dataclass(frozen=True, slots=True)
class Track:
    """Where races take place; ``model`` is the model server's ledger."""

    workspace: Workspace
    model: Path

    def race(self, kind: Kind, name: str) -> Race:
        """Run one, to its cancel."""
        dice = random.Random(name)  # noqa: S311  repeatable, not secret
        text = f"[[run: {name}]] {kind.script.replace('NAME', name)}"
        run = start_run(self.workspace, text, agent=kind.agent, approve=kind.approve)
        self._come_so_far(kind, name, run)
        time.sleep(dice.uniform(0, kind.spread))
        asked = time.time()
        cancel_run(self.workspace, run, reason="nobody wants it any more")
        done = time.time()
        if dice.random() < 0.3:  # and somebody else has the same idea
            cancel_run(self.workspace, run, reason="me too")
        return Race(kind, name, run, asked, done)

    def _come_so_far(self, kind: Kind, name: str, run: UUID) -> None:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up:
            row = Run.objects.get(pk=run)
            if row.status in TERMINAL:
                return
            if kind.ready(row) and (not kind.asked or self._was_asked(name)):
                return
            time.sleep(LOOK_EVERY)

    def _was_asked(self, name: str) -> bool:
        if f'"run":"{name}"' not in self.model.read_text():
            return False
        time.sleep(STREAMED_SECONDS)
        return True
