"""State of a run that extracts memories from another run."""

from __future__ import annotations

from dataclasses import dataclass

from agents.journal.events import MemoriesExtracted
from agents.journal.folding import folds
from agents.loop.agent_state import AgentState


@dataclass(slots=True)
class ExtractionState(AgentState):
    """State of a run of the kind ``extraction``.

    Attributes:
        extracted: Memories that the run has stored; None: nothing is stored yet.
    """

    extracted: MemoriesExtracted | None = None

    @folds(MemoriesExtracted)
    def _extract(self, extracted: MemoriesExtracted) -> None:
        self.extracted = extracted
