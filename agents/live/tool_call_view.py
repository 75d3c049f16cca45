"""View of a run that is one tool call. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from agents.journal import events
from agents.journal.folding import folds
from agents.live.view import RunView


@dataclass(slots=True)
class ToolCallView(RunView):
    """View of a run whose only turn is a call without a model."""

    @folds(events.RunCreated)
    def _show_call(self, created: events.RunCreated) -> None:
        if created.call is not None:
            self._keep("turn 0", self._turn(0, (created.call,)))
