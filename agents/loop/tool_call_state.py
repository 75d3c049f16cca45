"""State of a run that is one tool call."""

from __future__ import annotations

from dataclasses import dataclass

from agents.journal.events import RunCreated
from agents.journal.folding import folds
from agents.loop.call_state import CallingState, CallState


@dataclass(slots=True)
class ToolCallState(CallingState):
    """State of a run of the kind ``tool_call``.

    Attributes:
        served: The call with its result; None: there is no result yet.
    """

    served: CallState | None = None

    @folds(RunCreated)
    def _open_call(self, created: RunCreated) -> None:
        if created.call is not None:
            self._open_calls(0, (created.call,))

    def _close_calls(self, calls: list[CallState]) -> None:
        [self.served] = calls
